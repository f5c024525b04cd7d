/**
 * Parses and resolves references: `BATCH`, `ROLLOUT`, or `BATCH/TASK/ATTEMPT`, the latter two optionally followed by
 * `:STEP` or `@SEQ`. `last` is the newest batch.
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

/** Batches per request when looking for the last one. */
const PAGE = 20;
const ID = /^(b|r)[0-9a-z]{17}$/;
const FORMS = 'BATCH, ROLLOUT[:STEP|@SEQ], or BATCH/TASK/ATTEMPT[:STEP|@SEQ]';

/** Parses a reference. Throws StudioError `usage` if it is invalid. Task IDs can contain `/`, `:`, and `@`. */
export function parseReference(text: string): Reference {
  const slash = text.indexOf('/');
  if (slash >= 0) {
    const match = /^(.+)\/(\d+)(?::(\d+)|@(\d+))?$/.exec(text.slice(slash + 1));
    if (match === null) throw invalidReference(text);
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
  if (match === null || !(ID.test(id) || id === 'last')) throw invalidReference(text);
  if (id.startsWith('r')) return { kind: 'rollout', rollout: id, point: pointOf(match[2], match[3]) };
  if (match[2] !== undefined || match[3] !== undefined) throw invalidReference(text);
  return { kind: 'batch', batch: id };
}

/** Returns whether a text is a reference rather than a file name: it starts with an ID or `last`. */
export function isReference(text: string): boolean {
  const [first = ''] = text.split(/[/:@]/, 1);
  return ID.test(first) || first === 'last';
}

function pointOf(step: string | undefined, seq: string | undefined): Point {
  if (step !== undefined) return { step: Number(step) };
  if (seq !== undefined) return { seq: Number(seq) };
  return {};
}

function invalidReference(text: string): StudioError {
  return new StudioError('usage', `“${text}” is not a reference.`, {
    hint: `Use ${FORMS}. List batches with rollout batches.`,
  });
}

/** Returns the ID of a batch reference, resolving `last`. */
export async function resolveBatch(api: Api, text: string, signal: AbortSignal): Promise<string> {
  const reference = parseReference(text);
  if (reference.kind !== 'batch')
    throw new StudioError('usage', `“${text}” is not a batch.`, {
      hint: 'Use the ID of a batch, or `last` for the newest.',
    });
  return batchId(api, reference.batch, signal);
}

/** `last` is the newest batch that is not a debug run; for a debugger (`isDebugger`), the newest that has not ended. */
export async function batchId(api: Api, name: string, signal: AbortSignal, isDebugger = false): Promise<string> {
  if (name !== 'last') return name;
  let before: string | undefined;
  do {
    const page = await api.batches({ limit: PAGE, ...(before === undefined ? {} : { before }) }, signal);
    const match = page.batches.find(({ debug, state }) => (isDebugger ? state !== 'ended' : debug !== true));
    if (match !== undefined) return match.batch;
    before = page.next;
  } while (before !== undefined);
  throw isDebugger
    ? new StudioError('not_found', 'No batch is running.', { hint: 'Run one with rollout run BATCH --detach.' })
    : new StudioError('not_found', 'The store has no batches yet.', { hint: 'Run one with rollout run BATCH.' });
}

/** Resolves `BATCH/TASK`. Throws StudioError `not_found` if the task has no attempts. */
export async function resolveTask(
  api: Api,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly batch: string; readonly task: string }> {
  const parsed = taskOf(text);
  if (parsed === undefined)
    throw new StudioError('usage', `“${text}” is not a task of a batch.`, {
      hint: 'Use BATCH/TASK. List batches with rollout batches.',
    });
  const batch = await batchId(api, parsed.batch, signal);
  const {
    rollouts: [row],
  } = await api.rollouts(batch, { task: parsed.task, all: 1, limit: 1 }, signal);
  if (row === undefined)
    throw new StudioError('not_found', `Batch ${batch} has no attempts of task “${parsed.task}”.`, {
      hint: `List its tasks with rollout show ${batch}.`,
    });
  return { batch, task: parsed.task };
}

/** Parses `BATCH/TASK`, or returns undefined. Task IDs can contain slashes, so `BATCH/TASK/ATTEMPT` matches too. */
export function taskOf(text: string): { readonly batch: string; readonly task: string } | undefined {
  const slash = text.indexOf('/');
  const [batch, task] = [text.slice(0, slash), text.slice(slash + 1)];
  return slash > 0 && task !== '' && (batch === 'last' || (ID.test(batch) && batch.startsWith('b')))
    ? { batch, task }
    : undefined;
}

/** Resolves a reference to a rollout. For an attempt it is the one that settled it, or else the newest. */
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
      `Batch ${batch} has no attempt ${reference.attempt} of task “${reference.task}”.`,
      { hint: `List its tasks with rollout show ${batch}.` },
    );
  return row.rollout;
}

/** Returns the page that compares the attempts of a task. */
export async function comparePlaceOf(api: Api, text: string, signal: AbortSignal): Promise<PagePlace> {
  return { page: 'compare', ...(await resolveTask(api, text, signal)) };
}

/** Returns the page that shows the target of a reference. */
export async function placeOf(api: Api, text: string, signal: AbortSignal): Promise<PagePlace> {
  const reference = parseReference(text);
  if (reference.kind === 'batch') return { page: 'batch', batch: await batchId(api, reference.batch, signal) };
  return { page: 'trajectory', rollout: await resolveRollout(api, reference, signal), ...reference.point };
}
