/**
 * Creates batches that score recorded rollouts again. Each of their rollouts shares all events of a recorded one and
 * adds what its scorer does; when it ends, the store copies the verdict to the batch of the recorded one.
 */
import type { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { trimmedError } from '../../common/trimmed.ts';
import type { CommandReply, rescoreArgs } from '../../protocol/commands.ts';
import type { BatchRecord, RescoredTask } from '../../store/store.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Services } from '../services.ts';
import { ownerOf, queueOf, recordOf, recordWarnings } from './create.ts';
import { checkBatchId } from './ids.ts';
import { requireSecrets } from './secrets.ts';
import { blobsOf, requireBlobs } from './submissions.ts';

const PAGE = 1_000;
const TASKS = 200;

type RescoreArgs = z.infer<typeof rescoreArgs>;
/** By index of the task, in order. */
type Selection = ReadonlyMap<number, RescoredTask['rollouts'][number][]>;

/** Creates the batch. Idempotent by its ID. */
export async function rescoreBatch(
  services: Services,
  batch: string,
  request: RescoreArgs,
  by: string,
): Promise<CommandReply> {
  const { store, submissions, secrets, supervisor } = services;
  checkBatchId(request.batch);
  const rescored = await recordOf(services, batch);
  checkRescored(rescored);
  const selection = await select(services, batch, request.rollouts);
  const submission = await submissions.get(request.submission);
  if (submission.scorer.kind === 'world' && submission.world === undefined)
    throw new StudioError('usage', `The scorer is the verifier of the world, but batch ${batch} has no world.`, {
      hint: 'Choose a scorer that judges the answer or the conversation.',
    });
  const blobs = blobsOf(request.submission, submission);
  await requireBlobs(services.usable, blobs, 'The submission');
  const warnings = await services.checkNeeds(submission);
  const isNew = (await store.batch(request.batch)) === undefined;
  if (isNew) services.requireQueue(submission.queue, services.caller.user);
  if (isNew) requireSecrets(submission, request.secrets, 'Set them where you rescore the batch.');
  if (request.secrets !== undefined && Object.keys(request.secrets).length > 0)
    await secrets.put(request.batch, submission.env, request.secrets);
  await store.createBatch({
    id: request.batch,
    name: submission.name,
    submission: request.submission,
    attempts: rescored.spec.attempts,
    order: submission.order,
    priority: submission.priority,
    ...queueOf(submission),
    retries: submission.retry.infrastructure,
    debug: rescored.spec.debug,
    imported: false,
    blobs,
    rescores: { batch, by },
    ...ownerOf(services, submission.share),
  });
  if (isNew) await recordWarnings(services, request.batch, submission.env, request.secrets ?? {}, warnings);
  await addTasks(services, batch, request.batch, selection);
  await store.seal(request.batch);
  supervisor.check(request.batch);
  const changed = [...selection.values()].reduce((sum, { length }) => sum + length, 0);
  return { changed, text: `Batch ${request.batch} scores ${plural(changed, 'attempt')} of batch ${batch} again.` };
}

function checkRescored({ row, spec }: BatchRecord): void {
  if (row.trimmed !== undefined) throw trimmedError(row.batch, row.trimmed);
  if (spec.rescores === undefined) return;
  throw new StudioError('usage', `Batch ${row.batch} has only verdicts on batch ${spec.rescores.batch}.`, {
    hint: `Rescore batch ${spec.rescores.batch}.`,
  });
}

/**
 * Selects the rollouts that settled their attempts: all, or those in `ids`. Throws StudioError `conflict` if there are
 * none, or if one of `ids` has no result.
 */
async function select({ store }: Services, batch: string, ids: readonly string[] | undefined): Promise<Selection> {
  const missing = ids === undefined ? undefined : new Set(ids);
  const selection = new Map<number, RescoredTask['rollouts'][number][]>();
  let after: string | undefined;
  do {
    const page = await store.rollouts(batch, { limit: PAGE, all: true, ...(after === undefined ? {} : { after }) });
    for (const row of page.rollouts) {
      if (!hasResult(row) || missing?.delete(row.rollout) === false) continue;
      const { task_index: index, attempt, rollout } = row;
      const rollouts = selection.get(index);
      if (rollouts === undefined) selection.set(index, [{ attempt, rollout }]);
      else rollouts.push({ attempt, rollout });
    }
    after = page.next;
  } while (after !== undefined);
  const [first] = missing ?? [];
  if (first !== undefined)
    throw new StudioError('conflict', `Rollout ${first} is not the result of an attempt of batch ${batch}.`, {
      hint: 'Only ended rollouts that count for their attempts can be scored again.',
    });
  if (selection.size === 0)
    throw new StudioError('conflict', `No attempt of batch ${batch} has a result that could be scored again.`, {
      hint: 'Wait until some have ended.',
    });
  return selection;
}

function hasResult({ settles, progress }: RolloutRow): boolean {
  return settles && (progress.status === 'done' || progress.status === 'truncated');
}

async function addTasks({ store }: Services, from: string, to: string, selection: Selection): Promise<void> {
  let added = 0;
  let after: number | undefined;
  let index = 0;
  do {
    const page = await store.tasks(from, { limit: TASKS, ...(after === undefined ? {} : { after }) });
    const tasks: RescoredTask[] = [];
    for (const task of page.tasks) {
      const rollouts = selection.get(index++);
      if (rollouts !== undefined) tasks.push({ task, rollouts });
    }
    await store.addRescored(to, added, tasks);
    added += tasks.length;
    after = page.next;
  } while (after !== undefined && added < selection.size);
}
