/** Why batches wait, for people. Whoever asks sees only the batches that it may read. */
import { plural } from '../../common/text.ts';
import { count } from '../../common/units.ts';
import type { WAITING_FOR, WaitingBatch } from '../../protocol/shares.ts';
import type { Shares, TrackedShare } from './shares.ts';

export type WaitingFor = (typeof WAITING_FOR)[number];

/** What an executor says about a batch that has no pods, or fewer than it could have. */
export interface PodsWait {
  readonly why: 'pods' | 'cluster' | 'queue';
  readonly text: string;
}

/** Why the calls of a batch, or its queued rollouts, wait for its endpoints. */
export type EndpointWait = 'priority' | 'share' | 'endpoint';

export interface WaitingSources {
  readonly shares: Shares;
  readonly podsWait: (batch: string) => PodsWait | undefined;
  readonly endpointWait: (batch: string) => EndpointWait | undefined;
  /** Returns whether the workers of a batch could run more than they got. */
  readonly wantsMore: (batch: string) => boolean;
}

export type WaitReasonOf = Pick<WaitingBatch, 'why' | 'text'>;

/** Returns why a batch runs less than it could; undefined if it does not wait. */
export function waitOf(sources: WaitingSources, tracked: TrackedShare): WaitReasonOf | undefined {
  const { record, owner } = tracked;
  const { batch, counts } = record.row;
  const { shares } = sources;
  if (record.stopping !== undefined || counts.queued + counts.running + counts.held === 0) return undefined;
  if (record.paused) return { why: 'paused', text: 'The batch is paused. Resume it to continue.' };
  const tokens = shares.overTokens(owner);
  if (tokens !== undefined)
    return {
      why: 'tokens',
      text:
        `${limitName(tokens)} used ${count(shares.usage.hour((one) => one[tokens.kind] === tokens.name))} of ` +
        `${count(tokens.limit)} tokens in the last hour. Model calls continue as older ones pass out of it.`,
    };
  const rollouts = counts.queued === 0 ? undefined : shares.overRollouts(owner);
  if (rollouts !== undefined)
    return {
      why: 'rollouts',
      text:
        `${limitName(rollouts)} may run ${plural(rollouts.limit, 'rollout')} at once. ` +
        `${waitText(counts)} until others end.`,
    };
  const pods = counts.queued === 0 ? undefined : sources.podsWait(batch);
  if (pods !== undefined) return pods;
  const endpoint = sources.endpointWait(batch);
  if (endpoint === 'priority')
    return {
      why: 'priority',
      text: 'Batches of a higher priority use the model endpoint. Model calls continue when those leave room.',
    };
  // Whoever has all that its workers can run does not wait.
  if (endpoint === undefined || (counts.queued > 0 && !sources.wantsMore(batch) && counts.running > 0))
    return undefined;
  if (endpoint === 'share')
    return {
      why: 'share',
      text: `Others use their shares of the model endpoint. ${waitText(counts)} until there is room.`,
    };
  return {
    why: 'endpoint',
    text: `The model endpoint takes no more calls now. ${waitText(counts)} until it does.`,
  };
}

/** Returns the waiting batches, by priority, then age. */
export function waitingBatches(
  sources: WaitingSources,
): { readonly tracked: TrackedShare; readonly waiting: WaitingBatch }[] {
  const found = [...sources.shares.tracked.values()]
    .sort(
      (a, b) =>
        b.record.spec.priority - a.record.spec.priority ||
        a.record.row.created_at - b.record.row.created_at ||
        (a.record.row.batch < b.record.row.batch ? -1 : 1),
    )
    .flatMap((tracked) => {
      const reason = waitOf(sources, tracked);
      return reason === undefined ? [] : [{ tracked, reason }];
    });
  return found.map(({ tracked, reason }, index) => ({
    tracked,
    waiting: { batch: tracked.record.row.batch, position: index + 1, of: found.length, ...reason },
  }));
}

function waitText({ queued, running }: { readonly queued: number; readonly running: number }): string {
  if (queued === 0) return `Its ${plural(running, 'running rollout')} ${running === 1 ? 'waits' : 'wait'}`;
  return `${count(queued)} of its rollouts ${queued === 1 ? 'waits' : 'wait'}`;
}

/** Returns whose limit it is, at the beginning of a sentence. */
export function limitName({ kind, name }: { readonly kind: 'user' | 'queue'; readonly name: string }): string {
  if (kind === 'queue') return `Queue ${name}`;
  return name === '' ? 'Everybody with a client token' : name;
}
