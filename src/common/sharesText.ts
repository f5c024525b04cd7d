/** Puts into words how a server divides what it has. */

import type { ShareRow } from '../protocol/shares.ts';
import { nounFor, plural } from './text.ts';
import { compact, count, percent } from './units.ts';

/** Returns the name of a user or queue. Without one: whoever launched with a client token. */
export function shareName({ kind, name }: Pick<ShareRow, 'kind' | 'name'>): string {
  return name === '' ? (kind === 'user' ? 'client token' : 'no queue') : name;
}

/** Returns e.g. `62% of 50% · 120 rollouts · 8 pods`. Whoever uses nothing has no share now. */
export function shareText({ used, entitled, rollouts, pods }: ShareRow): string {
  return [
    used === 0 && entitled === 0 ? '' : `${percent(used)} of ${percent(entitled)}`,
    limited(rollouts.running, rollouts.limit, 'rollout'),
    pods.running === 0 && pods.limit === undefined ? '' : limited(pods.running, pods.limit, 'pod'),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** Returns all figures of a user or queue, one line each. */
export function shareLines(row: ShareRow): string[] {
  const { rollouts, tokens, gpu_hours: gpus, cpu_hours: cpus } = row;
  return [
    `${percent(row.used)} of the tokens of the last minute; ` +
      `entitled to ${percent(row.entitled)} (weight ${row.weight})`,
    `${plural(row.batches, 'batch', 'batches')}; ` +
      `rollouts: ${count(rollouts.running)} running, ${count(rollouts.held)} held, ${count(rollouts.queued)} queued` +
      (rollouts.limit === undefined ? '' : `, at most ${count(rollouts.limit)}`),
    limited(row.pods.running, row.pods.limit, 'pod'),
    `${compact(tokens.hour)}${tokens.limit === undefined ? '' : ` of ${compact(tokens.limit)}`} ` +
      'tokens in the last hour',
    `${hours(gpus)} GPU hours, ${hours(cpus)} CPU hours in the last 24 hours`,
  ];
}

function limited(number: number, limit: number | undefined, noun: string): string {
  return limit === undefined
    ? `${count(number)} ${nounFor(number, noun)}`
    : `${count(number)} of ${count(limit)} ${nounFor(limit, noun)}`;
}

function hours(value: number): string {
  return value >= 10 ? count(Math.round(value)) : value.toFixed(1).replace(/\.0$/, '');
}
