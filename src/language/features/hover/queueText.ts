/** Describes the queue that a batch file names. */
import { plural } from '../../../common/text.ts';
import { compact } from '../../../common/units.ts';
import type { Path } from '../../../config/source/parse.ts';
import { DEFAULT_QUEUE, type QueueInfo } from '../../../protocol/shares.ts';
import { queuesFor } from '../../workspace/queues.ts';
import type { Workspace } from '../../workspace.ts';

export function isQueue(path: Path): boolean {
  return path.length === 1 && path[0] === 'queue';
}

/** Returns undefined if nobody has seen the server of the target. */
export function queueText(workspace: Workspace, batch: unknown): string | undefined {
  const known = queuesFor(workspace, batch);
  if (known === undefined) return undefined;
  const { target, queues, named } = known;
  if (queues.length === 0) return `\`${target}\` has no queues, and ignores this.`;
  const names = queues.map(({ name }) => `\`${name}\``).join(', ');
  const queue = queues.find(({ name }) => name === (named ?? DEFAULT_QUEUE));
  const own = queue === undefined ? [] : [`\`${queue.name}\` on \`${target}\`: ${limitsText(queue)}`];
  return [...own, `Queues of \`${target}\`: ${names}`].join('\n\n');
}

/** Returns e.g. `weight 2, at most 200 rollouts and 8 pods at once, 50M tokens per hour`. */
export function limitsText({ weight, rollouts, pods, tokens_per_hour: tokens }: QueueInfo): string {
  const atOnce = [
    ...(rollouts === undefined ? [] : [plural(rollouts, 'rollout')]),
    ...(pods === undefined ? [] : [plural(pods, 'pod')]),
  ].join(' and ');
  return [
    `weight ${weight}`,
    ...(atOnce === '' ? [] : [`at most ${atOnce} at once`]),
    ...(tokens === undefined ? [] : [`${compact(tokens)} tokens per hour`]),
  ].join(', ');
}
