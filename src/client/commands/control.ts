/** Commands to a batch, and the same words for one rollout where they make sense there. */

import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
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

export interface ControlResult {
  readonly reply: CommandReply;
  readonly kind: 'batch' | 'rollout';
  readonly id: string;
}

export interface ControlOptions {
  /** Of `cancel`. */
  readonly reason?: string | undefined;
  /** Of `pause`: the batch keeps no workers (pods) meanwhile. */
  readonly release?: boolean;
  /** Who says so; told in the record. */
  readonly by: string;
}

/** Tells the batch or rollout that `text` refers to what to do. */
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
    return { kind: 'batch', id, reply: await api.commandBatch(id, { ...args, verb }, signal) };
  }
  const rolloutVerb = FOR_ROLLOUT[verb];
  if (rolloutVerb === undefined)
    throw new StudioError('usage', `${verb} takes a batch, not one rollout.`, { hint: `rollout ${verb} BATCH` });
  if (release)
    throw new StudioError('usage', 'Pods are released for a whole batch: they work for all its rollouts.', {
      hint: 'rollout pause BATCH --release-pods',
    });
  const id = await resolveRollout(api, reference, signal);
  return { kind: 'rollout', id, reply: await api.commandRollout(id, { ...args, verb: rolloutVerb }, signal) };
}

/** What a command did, for people. */
export function controlText(verb: ControlVerb, { reply, kind, id }: ControlResult): string {
  if (reply.text !== undefined) return reply.text;
  const what = `${kind} ${id}`;
  switch (verb) {
    case 'cancel':
      return `Cancelled ${what}${reply.changed === undefined ? '' : ` (${plural(reply.changed, 'attempt')})`}.`;
    case 'pause':
      return `Paused ${what}. rollout resume goes on.`;
    case 'resume':
      return `Resumed ${what}.`;
    case 'retry':
      return `Queued ${plural(reply.changed ?? 0, 'new try', 'new tries')} in ${what}.`;
  }
}
