/** The arguments of a debug session. */
import { z } from 'zod';
import { MAX_HELD } from '../client/launchHeld.ts';
import { StudioError } from '../common/errors.ts';

const common = {
  /** Whether to stop at the beginning. Default: true for a recorded rollout, false for a running one. */
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
  /** Where to start: a step, or a seq. */
  step: z.number().int().min(0).optional(),
  seq: z.number().int().min(1).optional(),
});
const attach = z.object({
  ...common,
  request: z.literal('attach'),
  rollout: z.string().optional(),
  batch: z.string().optional(),
});

type LiveArguments = z.infer<typeof live>;
type ReplayArguments = z.infer<typeof replay>;
type AttachArguments = z.infer<typeof attach>;
export type DebugArguments = LiveArguments | ReplayArguments | AttachArguments;

/** Parses the arguments. Throws `usage` with the invalid member and its allowed values. */
export function readArguments(request: 'launch' | 'attach', input: unknown): DebugArguments {
  const raw: Readonly<Record<string, unknown>> = { ...(typeof input === 'object' ? input : {}), request };
  if (request === 'attach') {
    const args = parse(attach, raw);
    if ((args.rollout === undefined) === (args.batch === undefined))
      throw new StudioError('usage', 'The attach configuration needs a rollout or a batch.', {
        hint: 'Set "rollout" or "batch" to an ID, or "batch" to "last".',
      });
    return args;
  }
  if (raw['mode'] === 'live') return parse(live, raw);
  if (raw['mode'] !== 'replay')
    throw new StudioError('usage', `Unknown mode: ${JSON.stringify(raw['mode'] ?? null)}.`, {
      hint: 'Set "mode" to "live" with a batch file, or to "replay" with a rollout.',
    });
  const args = parse(replay, raw);
  if (args.rollout === undefined && (args.batch === undefined || args.task === undefined)) {
    throw new StudioError('usage', 'The replay configuration needs a rollout.', {
      hint: 'Set "rollout", or "batch" with "task" and "attempt".',
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
    `Invalid debug configuration at ${issue?.path.join('.') ?? 'the top level'}: ${issue?.message ?? ''}.`,
  );
}
