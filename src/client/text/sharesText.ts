/** Prints how a server divides what it has, and which batches wait. */
import { compact, percent } from '../../common/units.ts';
import type { ShareRow, SharesReply, WaitingBatch } from '../../protocol/shares.ts';
import type { PodHours } from '../podHours.ts';
import { table } from './table.ts';

const RIGHT = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Returns tables of the shares, and of the batches that wait. */
export function sharesText({ rows, waiting }: SharesReply): string {
  const queues = rows.filter(({ kind }) => kind === 'queue');
  const users = rows.filter(({ kind }) => kind === 'user');
  return [
    ...(queues.length === 0 ? [] : [shareTable('queue', queues)]),
    ...(users.length === 0 ? [] : [shareTable('user', users)]),
    waiting.length === 0 ? 'No batch waits.' : waitingTable(waiting),
  ].join('\n\n');
}

function shareTable(heading: string, rows: readonly ShareRow[]): string {
  return table(
    [
      [
        heading,
        'weight',
        'share',
        'used',
        'batches',
        'rollouts',
        'queued',
        'pods',
        'tokens/h',
        'GPU h (24 h)',
        'CPU h (24 h)',
      ],
      ...rows.map((row) => [
        row.name === '' ? '(client token)' : row.name,
        String(row.weight),
        row.entitled === 0 ? '' : percent(row.entitled),
        row.used === 0 ? '' : percent(row.used),
        String(row.batches),
        ofLimit(row.rollouts.running, row.rollouts.limit, String),
        String(row.rollouts.queued),
        ofLimit(row.pods.running, row.pods.limit, String),
        ofLimit(row.tokens.hour, row.tokens.limit, compact),
        hours(row.gpu_hours),
        hours(row.cpu_hours),
      ]),
    ],
    [...RIGHT, 10],
  );
}

function waitingTable(waiting: readonly WaitingBatch[]): string {
  return table([
    ['batch', 'position', 'waits for', ''],
    ...waiting.map(({ batch, position, of, why, text }) => [batch, `${position} of ${of}`, WAITS[why], text]),
  ]);
}

const WAITS: Readonly<Record<WaitingBatch['why'], string>> = {
  share: 'its share',
  rollouts: 'the limit on rollouts',
  pods: 'the limit on pods',
  tokens: 'the limit on tokens',
  priority: 'a higher priority',
  endpoint: 'the model endpoint',
  cluster: 'the cluster',
  queue: 'its Kueue queue',
  paused: 'somebody to resume it',
};

function ofLimit(value: number, limit: number | undefined, text: (value: number) => string): string {
  return limit === undefined ? text(value) : `${text(value)} of ${text(limit)}`;
}

/** Returns a line about what the pods of a batch used, as in a report. */
export function podHoursText(models: PodHours): string {
  const parts = models.map(({ model, gpu_hours: gpu, cpu_hours: cpu }) => {
    const used = [gpu === 0 ? '' : `${hours(gpu)} GPU h`, cpu === 0 ? '' : `${hours(cpu)} CPU h`].filter(
      (text) => text !== '',
    );
    return `${used.length === 0 ? 'nothing requested' : used.join(', ')} (${model})`;
  });
  return `hours      ${parts.join('; ')}`;
}

/** Formats hours: `0.05`, `1.5`, `120`; nothing for none. */
function hours(value: number): string {
  if (value === 0) return '';
  return value < 0.995
    ? value.toPrecision(2).replace(/^0\.00\d+$/, '<0.01')
    : value < 99.95
      ? value.toFixed(1)
      : String(Math.round(value));
}
