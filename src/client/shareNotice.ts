/** What people should know before a launch at a server that divides what it has: see `GET /v1/shares`. */
import { plural } from '../common/text.ts';
import { count, percent } from '../common/units.ts';
import { DEFAULT_QUEUE, type ShareRow, type SharesReply } from '../protocol/shares.ts';

/**
 * Returns one line if a new batch would not get all it asks for now, and why; undefined if nothing is in its way.
 * `rollouts`: how many it could run at once. `queue`: as its file names it.
 */
export function shareNotice(
  reply: SharesReply,
  batch: { readonly queue?: string | undefined; readonly rollouts: number },
): string | undefined {
  const { rollouts } = batch;
  const queue = batch.queue ?? (reply.queues.includes(DEFAULT_QUEUE) ? DEFAULT_QUEUE : undefined);
  const ofQueue = reply.rows.find(({ kind, name }) => kind === 'queue' && name === queue);
  const ofUser = reply.rows.find(({ kind, name }) => kind === reply.own?.kind && name === reply.own.name);
  const rows = [ofQueue, ofUser].filter((row) => row !== undefined);
  for (const row of rows) {
    const full = limitNotice(row, rollouts);
    if (full !== undefined) return full;
  }
  const ahead = reply.waiting.filter(({ why }) => why === 'share' || why === 'priority' || why === 'endpoint').length;
  if (ahead === 0 || rollouts === 0) return undefined;
  const kind = queue === undefined ? 'user' : 'queue';
  // What it gets if it starts now, among those that already run.
  const others = reply.rows.filter((row) => row.kind === kind && !rows.includes(row) && row.entitled > 0);
  const own = queue === undefined ? ofUser : ofQueue;
  const weights = others.reduce((sum, { weight }) => sum + weight, own?.weight ?? 0);
  const part =
    own === undefined || others.length === 0
      ? ''
      : `; ${subject(own)} gets about ${percent(own.weight / weights)} of the calls`;
  return `${plural(ahead, 'batch', 'batches')} ${ahead === 1 ? 'waits' : 'wait'} for the models${part}.`;
}

/** Returns the user or queue as the subject of a sentence. */
function subject({ kind, name }: Pick<ShareRow, 'kind' | 'name'>): string {
  if (kind === 'queue') return `queue ${name}`;
  return name === '' ? 'everyone with a client token' : name;
}

function limitNotice(row: ShareRow, wanted: number): string | undefined {
  const name = capitalized(subject(row));
  const { rollouts, pods, tokens } = row;
  if (tokens.limit !== undefined && tokens.hour >= tokens.limit)
    return (
      `${name}: ${count(tokens.hour)} of ${count(tokens.limit)} tokens of this hour are used; ` +
      'this batch starts when they are more than an hour old.'
    );
  if (pods.limit !== undefined && pods.running >= pods.limit)
    return `${name}: ${pods.running} of ${pods.limit} pods run; this batch gets pods when others end.`;
  if (rollouts.limit === undefined) return undefined;
  const free = Math.max(0, rollouts.limit - rollouts.running);
  if (free >= wanted) return undefined;
  return (
    `${name}: ${rollouts.running} of ${rollouts.limit} rollouts run; ` +
    `${free === 0 ? 'none' : free} of this batch's ${wanted} ${free === 1 ? 'starts' : 'start'} now.`
  );
}

function capitalized(text: string): string {
  return text.startsWith('queue ') || text.startsWith('everyone ') ? text[0]?.toUpperCase() + text.slice(1) : text;
}
