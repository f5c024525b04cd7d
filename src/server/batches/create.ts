/** Creates batches. All checks run before anything is stored. */
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { hidingNote } from '../../common/redaction/hidable.ts';
import type { Submission } from '../../config/submission.ts';
import type { CreateBatch } from '../../protocol/client.ts';
import type { Shared } from '../../store/accessStore.ts';
import type { BatchRecord, NewBatch } from '../../store/store.ts';
import { compileFilter } from '../../trace/groups/filter.ts';
import type { EventData } from '../../trace/schema.ts';
import { blobsOfTask, type TaskRecord } from '../../trace/task.ts';
import { sees } from '../access/caller.ts';
import type { Services } from '../services.ts';
import { fileBytes, stateBytes } from './attached.ts';
import { checkBatchId } from './ids.ts';
import { requireSecrets } from './secrets.ts';
import { blobsOf, requireBlobs } from './submissions.ts';

/** Creates a batch and returns its record. Idempotent by the batch's ID. */
export async function createBatch(services: Services, request: CreateBatch): Promise<BatchRecord> {
  const { store, supervisor } = services;
  checkBatchId(request.batch);
  const existing = await store.batch(request.batch);
  if (
    existing !== undefined &&
    (existing.spec.by !== services.caller.user || existing.spec.submission !== request.submission)
  )
    throw new StudioError('conflict', `Batch ${request.batch} already exists with a different submission.`, {
      hint: 'Use another ID.',
    });
  if (request.group !== undefined) {
    checkGroups(request);
    // Those of an existing batch may have been removed since.
    if (existing === undefined) for (const batch of request.group.replay?.from ?? []) await recordOf(services, batch);
  }
  await requireFiles(services, request.tasks);
  if (request.imported === undefined) await createRunnable(services, request, existing);
  else await createImported(services, request, request.imported);
  if (request.tasks.length > 0) await store.addTasks(request.batch, 0, request.tasks, request.rates);
  if (!request.open) await store.seal(request.batch);
  if (request.imported === undefined) supervisor.check(request.batch);
  return recordOf(services, request.batch);
}

function checkGroups({ open, debug, imported, group }: CreateBatch): void {
  const problem = !open
    ? 'It must be open, since its groups are requested later.'
    : debug === true || imported !== undefined
      ? 'It can be neither for a debugger nor imported.'
      : undefined;
  if (problem !== undefined) throw new StudioError('usage', `A batch for groups cannot be created. ${problem}`);
  if (group?.filter === undefined) return;
  try {
    compileFilter(group.filter);
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    throw new StudioError('usage', `A batch for groups cannot be created. group.filter: ${error.message}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
  }
}

async function createRunnable(
  services: Services,
  request: CreateBatch,
  existing: BatchRecord | undefined,
): Promise<void> {
  const { store, submissions, secrets } = services;
  const submission = await submissions.get(request.submission);
  const blobs = blobsOf(request.submission, submission);
  await requireBlobs(services.usable, blobs, 'The submission');
  if (existing === undefined) services.requireQueue(submission.queue, services.caller.user);
  const warnings =
    existing === undefined
      ? await services.checkNeeds(submission, {
          attached: { files: fileBytes(request.tasks), state: await stateBytes(store.blobs, submission) },
          open: request.tasks.length * submission.attempts,
          sealed: !request.open,
        })
      : [];
  // A retried request may arrive after the batch has ended and its secrets were deleted.
  if (existing?.row.state !== 'ended') {
    requireSecrets(submission, request.secrets, 'Set them where the batch is submitted.');
    if (request.secrets !== undefined && Object.keys(request.secrets).length > 0)
      await secrets.put(request.batch, submission.env, request.secrets);
  }
  await store.createBatch({
    id: request.batch,
    name: submission.name,
    submission: request.submission,
    attempts: request.group === undefined ? submission.attempts : request.group.size + request.group.extra,
    ...(submission.adaptive === undefined || request.group !== undefined ? {} : { adaptive: submission.adaptive }),
    order: submission.order,
    priority: submission.priority,
    ...queueOf(submission),
    retries: submission.retry.infrastructure,
    debug: request.debug ?? false,
    imported: false,
    blobs,
    ...ownerOf(services, submission.share),
    ...(request.curriculum === undefined ? {} : { curriculum: request.curriculum }),
    ...(submission.stop.tokens_per_task === undefined ? {} : { task_tokens: submission.stop.tokens_per_task }),
    ...(submission.stop.cost_per_task === undefined ? {} : { task_cost: submission.stop.cost_per_task }),
    ...(request.group === undefined ? {} : { group: request.group }),
  });
  if (existing === undefined)
    await recordWarnings(services, request.batch, submission.env, request.secrets ?? {}, [
      ...(request.notes ?? []).map((text) => ({ what: 'note', text })),
      ...warnings,
    ]);
  if (request.breakpoints !== undefined && existing === undefined)
    // drops undefined members
    await store.setBreakpoints(request.batch, JSON.parse(JSON.stringify(request.breakpoints)) as Json);
}

/** Returns a sentence for each value that may be secret, but cannot be hidden. Never contains a value. */
export function visibleValues({ shown }: Submission['env'], secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets).flatMap(([name, value]) => {
    const note = shown.includes(name) ? undefined : hidingNote(value);
    return note === undefined ? [] : [`The value of ${name} is ${note}.`];
  });
}

/** Records which values of a new batch cannot be hidden, and the warnings about its workers. */
export async function recordWarnings(
  { store }: Pick<Services, 'store'>,
  batch: string,
  env: Submission['env'],
  secrets: Readonly<Record<string, string>>,
  warnings: readonly EventData['infra'][],
): Promise<void> {
  const notes = visibleValues(env, secrets);
  if (notes.length > 0) await store.addBatchEvent(batch, 'infra', { what: 'not_hidden', text: notes.join(' ') });
  for (const warning of warnings) await store.addBatchEvent(batch, 'infra', warning);
}

/** Creates an imported batch. Its `submission` is the imported file: it is kept, and never run. */
async function createImported(
  services: Services,
  request: CreateBatch,
  imported: { name: string; attempts: number },
): Promise<void> {
  const blobs = [request.submission];
  await requireBlobs(services.usable, blobs, 'The import');
  await services.store.createBatch({
    id: request.batch,
    name: imported.name,
    submission: request.submission,
    attempts: imported.attempts,
    order: 'breadth',
    priority: 0,
    retries: 0,
    debug: false,
    imported: true,
    blobs,
    ...ownerOf(services),
  });
}

/** Throws `conflict` with the attachments that were not uploaded before. */
export async function requireFiles(services: Pick<Services, 'usable'>, tasks: readonly TaskRecord[]): Promise<void> {
  const files = tasks.flatMap(blobsOfTask);
  if (files.length > 0) await requireBlobs(services.usable, [...new Set(files)], 'A task');
}

/** Returns the queue that a batch names. */
export function queueOf({ queue }: Pick<Submission, 'queue'>): Pick<NewBatch, 'queue'> {
  return queue === undefined ? {} : { queue };
}

/** Returns whose a new batch is, and whom it is shared with. */
export function ownerOf({ caller }: Pick<Services, 'caller'>, share?: Shared): Pick<NewBatch, 'by' | 'shared'> {
  if (caller.user === undefined) return {};
  return { by: caller.user, ...(share === undefined ? {} : { shared: share }) };
}

/** Returns the record of a batch. Throws `not_found`, also if the caller may not see it. */
export async function recordOf(
  { store, caller }: Pick<Services, 'store' | 'caller'>,
  batch: string,
): Promise<BatchRecord> {
  const record = await store.batch(batch);
  if (record === undefined || !sees(caller, record.row))
    throw new StudioError('not_found', `There is no batch ${batch.slice(0, 100)} here.`, {
      hint: 'Run “rollout batches” to list the batches.',
    });
  return record;
}
