/** Control commands for a batch or, where it makes sense, a single rollout. */

import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { listText, plural } from '../../common/text.ts';
import type { Api } from '../../protocol/api.ts';
import type { CommandReply } from '../../protocol/commands.ts';
import { batchId, parseReference, resolveRollout } from '../reference.ts';

export type ControlVerb = 'cancel' | 'pause' | 'resume' | 'retry';
type RolloutVerb = 'cancel' | 'hold' | 'release';

const FOR_ROLLOUT: Readonly<Record<ControlVerb, RolloutVerb | undefined>> = {
  cancel: 'cancel',
  pause: 'hold',
  resume: 'release',
  retry: undefined,
};

interface ControlResult {
  readonly reply: CommandReply;
  readonly kind: 'batch' | 'rollout';
  readonly id: string;
}

interface ControlOptions {
  /** Reason for `cancel`. */
  readonly reason?: string | undefined;
  /** For `pause`: release the batch’s workers (pods). */
  readonly release?: boolean;
  /** Who sends the command; recorded with it. */
  readonly by: string;
  /** Where values of `${env:…}` are read that a retry needs again, or that were lost. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Sends a command to the batch or rollout that `text` references. */
export async function control(
  api: Api,
  text: string,
  verb: ControlVerb,
  options: ControlOptions,
  signal: AbortSignal,
): Promise<ControlResult> {
  const reference = parseReference(text);
  const { reason, release = false, by } = options;
  const args = {
    command: newId('c'),
    by,
    ...(reason === undefined ? {} : { args: { reason } }),
    ...(release ? { args: { release } } : {}),
  };
  if (reference.kind === 'batch') {
    const id = await batchId(api, reference.batch, signal);
    const send = (more: object): Promise<CommandReply> => api.commandBatch(id, { ...args, ...more, verb }, signal);
    const reply = await send({}).catch((error: unknown) => {
      const secrets = missingValues(error, options.env);
      if (secrets === undefined) throw error;
      return send({ command: newId('c'), args: { secrets } });
    });
    return { kind: 'batch', id, reply };
  }
  const rolloutVerb = FOR_ROLLOUT[verb];
  if (rolloutVerb === undefined)
    throw new StudioError('usage', `${verb} works only on batches, not on a single rollout.`, {
      hint: `Use rollout ${verb} BATCH.`,
    });
  if (release)
    throw new StudioError('usage', 'Pods can be released only for a whole batch, because its rollouts share them.', {
      hint: 'Use rollout pause BATCH --release-pods.',
    });
  const id = await resolveRollout(api, reference, signal);
  return { kind: 'rollout', id, reply: await api.commandRollout(id, { ...args, verb: rolloutVerb }, signal) };
}

/**
 * Returns the values that a server misses, from the environment; undefined if it does not miss any. Throws StudioError
 * `config` if some are not set.
 */
function missingValues(error: unknown, env: NodeJS.ProcessEnv | undefined): Record<string, string> | undefined {
  const names = StudioError.is(error, 'config') ? missing.safeParse(error.details).data?.missing : undefined;
  if (names === undefined || env === undefined) return undefined;
  const unset = names.filter((name) => env[name] === undefined);
  if (unset.length > 0) {
    throw new StudioError('config', `The server no longer has the values of ${listText(unset)}.`, {
      hint: 'Set them as environment variables here, as when the batch was launched, and repeat the command.',
      cause: error,
    });
  }
  return Object.fromEntries(names.map((name) => [name, env[name] ?? '']));
}

const missing = z.looseObject({ missing: z.array(z.string()) });

/** Describes what a command did. */
export function controlText(verb: ControlVerb, { reply, kind, id }: ControlResult): string {
  if (reply.text !== undefined) return reply.text;
  const subject = `${kind} ${id}`;
  switch (verb) {
    case 'cancel':
      return `Cancelled ${subject}${reply.changed === undefined ? '' : ` (${plural(reply.changed, 'attempt')})`}.`;
    case 'pause':
      return `Paused ${subject}. Resume with rollout resume.`;
    case 'resume':
      return `Resumed ${subject}.`;
    case 'retry':
      return `Queued ${plural(reply.changed ?? 0, 'retry', 'retries')} in ${subject}.`;
  }
}
