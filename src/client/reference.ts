/**
 * References as people write them (DESIGN section 2): `BATCH`, `ROLLOUT` or `BATCH/TASK/ATTEMPT`, the last two with
 * `:STEP` or `@SEQ` behind. `last` stands for the newest batch.
 */
import { StudioError } from '../common/errors.ts';
import type { Api } from '../protocol/api.ts';
import type { PagePlace } from '../protocol/page.ts';
import type { RolloutRow } from '../trace/summary.ts';

export interface Point {
  readonly step?: number;
  readonly seq?: number;
}

export type Reference =
  | { readonly kind: 'batch'; readonly batch: string }
  | { readonly kind: 'rollout'; readonly rollout: string; readonly point: Point }
  | {
      readonly kind: 'attempt';
      readonly batch: string;
      readonly task: string;
      readonly attempt: number;
      readonly point: Point;
    };

const ID = /^(b|r)[0-9a-z]{17}$/;
const FORMS = 'a batch, ROLLOUT[:STEP|@SEQ] or BATCH/TASK/ATTEMPT[:STEP|@SEQ]';

/** Reads a reference; throws `usage` when it is none. Task ids may hold `/`, `:` and `@`. */
export function parseReference(text: string): Reference {
  const slash = text.indexOf('/');
  if (slash >= 0) {
    const match = /^(.+)\/(\d+)(?::(\d+)|@(\d+))?$/.exec(text.slice(slash + 1));
    if (match === null) throw unreadable(text);
    return {
      kind: 'attempt',
      batch: text.slice(0, slash),
      task: match[1] ?? '',
      attempt: Number(match[2]),
      point: pointOf(match[3], match[4]),
    };
  }
  const match = /^([^:@]+)(?::(\d+)|@(\d+))?$/.exec(text);
  const id = match?.[1] ?? '';
  if (match === null || !(ID.test(id) || id === 'last')) throw unreadable(text);
  if (id.startsWith('r')) return { kind: 'rollout', rollout: id, point: pointOf(match[2], match[3]) };
  if (match[2] !== undefined || match[3] !== undefined) throw unreadable(text);
  return { kind: 'batch', batch: id };
}

/** Whether a text is surely a reference, not the name of a file: it begins with an id, or with `last`. */
export function isReference(text: string): boolean {
  const [first = ''] = text.split(/[/:@]/, 1);
  return ID.test(first) || first === 'last';
}

function pointOf(step: string | undefined, seq: string | undefined): Point {
  if (step !== undefined) return { step: Number(step) };
  if (seq !== undefined) return { seq: Number(seq) };
  return {};
}

function unreadable(text: string): StudioError {
  return new StudioError('usage', `“${text}” is not a reference.`, {
    hint: `Give ${FORMS}; rollout batches lists what there is.`,
  });
}

/** The id of a batch reference: `last` is looked up. */
export async function resolveBatch(api: Api, text: string, signal: AbortSignal): Promise<string> {
  const reference = parseReference(text);
  if (reference.kind !== 'batch')
    throw new StudioError('usage', `“${text}” is not a batch.`, { hint: 'Give a batch’s id, or last for the newest.' });
  return batchId(api, reference.batch, signal);
}

export async function batchId(api: Api, name: string, signal: AbortSignal): Promise<string> {
  if (name !== 'last') return name;
  const newest = (await api.batches({ limit: 1 }, signal)).batches[0];
  if (newest === undefined)
    throw new StudioError('not_found', 'This store has no batch yet.', { hint: 'Run one with rollout run BATCH.' });
  return newest.batch;
}

/** The task that `BATCH/TASK` names, when it has an attempt: all of them are meant. */
export async function resolveTask(
  api: Api,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly batch: string; readonly task: string }> {
  const named = taskOf(text);
  if (named === undefined)
    throw new StudioError('usage', `“${text}” is not a task of a batch.`, {
      hint: 'Give BATCH/TASK; rollout batches lists the batches there are.',
    });
  const batch = await batchId(api, named.batch, signal);
  const {
    rollouts: [row],
  } = await api.rollouts(batch, { task: named.task, all: 1, limit: 1 }, signal);
  if (row === undefined)
    throw new StudioError('not_found', `Batch ${batch} has no attempt at a task “${named.task}”.`, {
      hint: `rollout show ${batch} lists its tasks.`,
    });
  return { batch, task: named.task };
}

/** Reads `BATCH/TASK`; a task id may hold slashes, so that an attempt reads as a task too. undefined: it is none. */
export function taskOf(text: string): { readonly batch: string; readonly task: string } | undefined {
  const slash = text.indexOf('/');
  const [batch, task] = [text.slice(0, slash), text.slice(slash + 1)];
  return slash > 0 && task !== '' && (batch === 'last' || (ID.test(batch) && batch.startsWith('b')))
    ? { batch, task }
    : undefined;
}

/** The rollout a reference means: of an attempt the one that settled it, else its newest. */
export async function resolveRollout(
  api: Api,
  reference: Exclude<Reference, { kind: 'batch' }>,
  signal: AbortSignal,
): Promise<string> {
  if (reference.kind === 'rollout') return reference.rollout;
  const batch = await batchId(api, reference.batch, signal);
  const page = await api.rollouts(
    batch,
    { task: reference.task, attempt: reference.attempt, all: 1, limit: 100 },
    signal,
  );
  const row: RolloutRow | undefined = page.rollouts.find((candidate) => candidate.settles) ?? page.rollouts.at(-1);
  if (row === undefined)
    throw new StudioError(
      'not_found',
      `Batch ${batch} has no attempt ${reference.attempt} of a task “${reference.task}”.`,
      { hint: `rollout show ${batch} lists its tasks.` },
    );
  return row.rollout;
}

/** The page that compares the attempts at a task. */
export async function comparePlaceOf(api: Api, text: string, signal: AbortSignal): Promise<PagePlace> {
  return { page: 'compare', ...(await resolveTask(api, text, signal)) };
}

/** The page that shows what a reference means. */
export async function placeOf(api: Api, text: string, signal: AbortSignal): Promise<PagePlace> {
  const reference = parseReference(text);
  if (reference.kind === 'batch') return { page: 'batch', batch: await batchId(api, reference.batch, signal) };
  return { page: 'trajectory', rollout: await resolveRollout(api, reference, signal), ...reference.point };
}
