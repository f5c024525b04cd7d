/** What a debug session is started with (DESIGN section 9). */
import { z } from 'zod';
import { MAX_HELD } from '../client/launchHeld.ts';
import { StudioError } from '../common/errors.ts';

const common = {
  /** Stops where it begins. Default: true for a recorded one, false for one that runs. */
  stopOnEntry: z.boolean().optional(),
  /** A folder, or `postgres://…`. Default: the user's store. */
  store: z.string().optional(),
  target: z.string().optional(),
};

const live = z.object({
  ...common,
  request: z.literal('launch'),
  mode: z.literal('live'),
  /** A batch file. */ batch: z.string().min(1),
  /** Default: the first. */ task: z.string().optional(),
  /** Default: 1. */ attempt: z.number().int().min(1).max(MAX_HELD).optional(),
});
const replay = z.object({
  ...common,
  request: z.literal('launch'),
  mode: z.literal('replay'),
  rollout: z.string().optional(),
  batch: z.string().optional(),
  task: z.string().optional(),
  attempt: z.number().int().min(1).optional(),
  /** Where it begins: a step, or a seq. */
  step: z.number().int().min(0).optional(),
  seq: z.number().int().min(1).optional(),
});
const attach = z.object({
  ...common,
  request: z.literal('attach'),
  rollout: z.string().optional(),
  batch: z.string().optional(),
});

export type LiveArguments = z.infer<typeof live>;
export type ReplayArguments = z.infer<typeof replay>;
export type AttachArguments = z.infer<typeof attach>;
export type DebugArguments = LiveArguments | ReplayArguments | AttachArguments;

/** Throws `usage` that names the member and what may stand there. */
export function readArguments(request: 'launch' | 'attach', given: unknown): DebugArguments {
  const raw: Readonly<Record<string, unknown>> = { ...(typeof given === 'object' ? given : {}), request };
  if (request === 'attach') {
    const args = parse(attach, raw);
    if ((args.rollout === undefined) === (args.batch === undefined))
      throw new StudioError('usage', 'Attaching needs a rollout or a batch.', {
        hint: 'Give "rollout" or "batch" with an id, or "last" as batch.',
      });
    return args;
  }
  if (raw['mode'] === 'live') return parse(live, raw);
  if (raw['mode'] !== 'replay')
    throw new StudioError('usage', `The mode is ${JSON.stringify(raw['mode'] ?? null)}.`, {
      hint: 'Give "mode": "live" with a batch file, or "replay" with a rollout.',
    });
  const args = parse(replay, raw);
  if (args.rollout === undefined && (args.batch === undefined || args.task === undefined)) {
    throw new StudioError('usage', 'A replay needs a rollout.', {
      hint: 'Give "rollout", or "batch" with "task" and "attempt".',
    });
  }
  return args;
}

function parse<T>(schema: z.ZodType<T>, raw: unknown): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new StudioError(
    'usage',
    `The debug configuration is wrong at ${issue?.path.join('.') ?? 'its top'}: ${issue?.message ?? ''}.`,
  );
}
