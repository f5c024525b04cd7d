/**
 * Forks: a fork is a batch with one task, whose rollouts share the parent's events 1..cut and continue from there.
 * Nothing is copied: calls before the cut are answered from the recorded events.
 */

import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { productDifference, revisionDifferences } from '../../config/revisions.ts';
import type { ForkEdit, Submission } from '../../config/submission.ts';
import type { Fork, ForkReply } from '../../protocol/client.ts';
import type { GroupSampling } from '../../protocol/groups.ts';
import type { Lineage } from '../../protocol/worker.ts';
import type { BatchRecord, RolloutRecord } from '../../store/store.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { mayUseValues } from '../access/caller.ts';
import type { Services } from '../services.ts';
import { StreamReader } from '../streamReader.ts';
import { ownerOf, queueOf, recordOf, recordWarnings, visibleValues } from './create.ts';
import { checkBatchId } from './ids.ts';
import { requireSecrets } from './secrets.ts';
import { blobsOf, requireBlobs } from './submissions.ts';
import { requireTrajectories } from './trimmed.ts';

const READ_BYTES = 1024 * 1024;

/** A call that the fork may repeat. */
interface IrreversibleCall {
  readonly seq: number;
  readonly name: string;
  readonly call: string;
}

/** What a fork continues. */
interface Parent {
  readonly rollout: RolloutRecord;
  readonly batch: BatchRecord;
  readonly task: TaskRecord;
  /** What the batch was submitted with; undefined for a recording. */
  readonly submission: Submission | undefined;
}

/** Reads all that a fork needs of its parent. Throws StudioError `not_found` if part of it does not exist. */
async function readParent(services: Services, id: string): Promise<Parent> {
  const { store, submissions } = services;
  const rollout = await store.rollout(id);
  if (rollout === undefined) throw new StudioError('not_found', `There is no rollout ${id.slice(0, 100)} here.`);
  const batch = await recordOf(services, rollout.row.batch).catch((error: unknown) => {
    throw StudioError.is(error, 'not_found')
      ? new StudioError('not_found', `There is no rollout ${id.slice(0, 100)} here.`)
      : error;
  });
  const task = await store.task(rollout.row.batch, rollout.row.task_index);
  if (task === undefined) throw new StudioError('not_found', `The task of rollout ${id} no longer exists.`);
  const submission = batch.row.imported ? undefined : await submissions.get(batch.spec.submission);
  return { rollout, batch, task, submission };
}

/** Creates a fork. Idempotent by the fork's batch ID. */
export async function forkRollout(services: Services, request: Fork): Promise<ForkReply> {
  const { store, submissions, secrets, supervisor } = services;
  checkBatchId(request.batch);
  const { rollout: parent, batch: parentBatch, task, submission: before } = await readParent(services, request.rollout);
  await requireTrajectories(services, parent.row);
  if (before === undefined && request.submission === undefined) {
    throw new StudioError('unsupported', 'An imported rollout has no agent to continue with.', {
      hint: 'Choose a submission to continue with.',
    });
  }
  if (request.seq > parent.row.last) {
    throw new StudioError(
      'conflict',
      `Rollout ${request.rollout} has ${plural(parent.row.last, 'event')}; it cannot ` +
        `be forked after event ${request.seq}.`,
      { details: { head: parent.row.last } },
    );
  }
  const sha = request.submission ?? parentBatch.spec.submission;
  const submission = request.submission === undefined && before !== undefined ? before : await submissions.get(sha);
  const blobs = blobsOf(sha, submission);
  // What was checked when it was created may have changed when the request is repeated, perhaps to another server.
  const existing = await store.batch(request.batch);
  const isNew = existing === undefined;
  await requireBlobs(services.usable, blobs, 'The submission');
  const warnings = isNew ? await services.checkNeeds(submission) : [];
  if (isNew) {
    await checkEdits(services, parent, request.seq, request.edit ?? []);
    if (request.accept_irreversible !== true)
      refuseIrreversible(await irreversibleAfter(services, parent, request.seq));
  }

  // Secrets that came with the fork override those the parent's batch still has, which are its user's alone.
  const isOwn = mayUseValues(services.caller, parentBatch.row);
  const inherited = isOwn ? await secrets.get(parent.row.batch) : undefined;
  const available = { ...inherited, ...request.secrets };
  const values = Object.fromEntries(
    submission.env.names.flatMap((name) => (Object.hasOwn(available, name) ? [[name, available[name] ?? '']] : [])),
  );
  if (isNew) {
    services.requireQueue(submission.queue, services.caller.user);
    requireSecrets(submission, values, 'Values are deleted when a batch ends. Set them where you create the fork.');
  }
  if (Object.keys(values).length > 0) await secrets.put(request.batch, submission.env, values);
  const differs = isNew ? differencesOf(before, submission) : (existing.spec.parent?.differs ?? []);
  const sampling = await groupSamplingOf(services, parentBatch, task);
  await store.createBatch({
    id: request.batch,
    name: `${submission.name}@${request.seq}`,
    submission: sha,
    attempts: request.attempts,
    order: submission.order,
    priority: submission.priority,
    ...queueOf(submission),
    retries: submission.retry.infrastructure,
    // A fork of a debug run is one, too: nobody measures with it.
    debug: request.debug === true || parentBatch.spec.debug,
    imported: false,
    blobs,
    // Whom a batch of others is shared with was their choice.
    ...ownerOf(services, isOwn || request.submission !== undefined ? submission.share : undefined),
    parent: {
      rollout: request.rollout,
      seq: request.seq,
      lineage: lineageAt(parent, request.seq),
      edits: request.edit ?? [],
      ...(differs.length === 0 ? {} : { differs }),
      ...(parent.row.progress.part === undefined ? {} : { part: parent.row.progress.part }),
      ...(sampling === undefined ? {} : { sampling }),
    },
  });
  if (isNew) await recordWarnings(services, request.batch, submission.env, values, warnings);
  if (request.breakpoints !== undefined)
    // drops undefined members
    await store.setBreakpoints(request.batch, JSON.parse(JSON.stringify(request.breakpoints)) as Json);
  await store.addTasks(request.batch, 0, [task]);
  await store.seal(request.batch);
  supervisor.check(request.batch);
  return { batch: request.batch, warnings: visibleValues(submission.env, values) };
}

/** Returns how a fork differs from the submission of its parent; undefined for a recording. */
function differencesOf(before: Submission | undefined, submission: Submission): string[] {
  return before === undefined ? [] : [...revisionDifferences(before, submission), ...productDifference(before)];
}

/** Returns the sampling that the group of a rollout was requested with; that of its parent for a fork. */
async function groupSamplingOf(
  { store }: Services,
  { row, spec }: BatchRecord,
  task: TaskRecord,
): Promise<GroupSampling | undefined> {
  if (spec.group === undefined) return spec.parent?.sampling;
  const { groups } = await store.groups(row.batch, { limit: 1, group: task.id });
  return groups[0]?.sampling;
}

/**
 * Returns which rollouts own events 1..cut. A cut inside the shared part of the rollout itself belongs to an ancestor.
 */
export function lineageAt(parent: { row: { rollout: string }; lineage: Lineage }, cut: number): Lineage {
  const lineage: Lineage = [];
  if (cut === 0) return lineage;
  for (const segment of parent.lineage) {
    if (segment.to >= cut) return [...lineage, { rollout: segment.rollout, to: cut }];
    lineage.push(segment);
  }
  return [...lineage, { rollout: parent.row.rollout, to: cut }];
}

/** Returns the calls of irreversible tools after the cut: a fork may repeat them. */
async function irreversibleAfter(services: Services, parent: RolloutRecord, cut: number): Promise<IrreversibleCall[]> {
  const calls: IrreversibleCall[] = [];
  for await (const event of eventsOf(services, parent, cut, parent.row.last, '"irreversible"')) {
    if (event.kind === 'tool.start' && event.data.effect === 'irreversible')
      calls.push({ seq: event.seq, name: event.data.name, call: event.data.call });
  }
  return calls;
}

function refuseIrreversible(calls: readonly IrreversibleCall[]): void {
  if (calls.length === 0) return;
  const names = [...new Set(calls.map((call) => call.name))].join(', ');
  throw new StudioError(
    'conflict',
    `After this point the rollout made ${calls.length === 1 ? 'a call' : `${calls.length} calls`} that cannot be ` +
      `undone and may be repeated: ${names}.`,
    {
      hint: 'Accept this with accept_irreversible (--accept-irreversible), or fork after them.',
      details: { irreversible: calls },
    },
  );
}

/** Throws `usage` for an edit outside the shared part. */
async function checkEdits(
  services: Services,
  parent: RolloutRecord,
  cut: number,
  edits: readonly ForkEdit[],
): Promise<void> {
  for (const { of, path } of edits) {
    if ((of.seq === undefined) === (of.m === undefined))
      throw new StudioError('usage', 'An edit needs either the seq of an event or the ordinal m of a message.');
    if (path !== '' && !path.startsWith('/'))
      throw new StudioError('usage', `“${path}” is not a JSON pointer.`, {
        hint: 'It starts with /, for example /parts/0/content.',
      });
    if (of.seq !== undefined && (of.seq < 1 || of.seq > cut))
      throw new StudioError('usage', `Event ${of.seq} is not among the shared events 1 to ${cut}.`);
  }
  const missing = new Set(edits.flatMap(({ of }) => (of.m === undefined ? [] : [of.m])));
  if (missing.size === 0) return;
  for await (const event of eventsOf(services, parent, 0, cut, '"message"'))
    if (event.kind === 'message') missing.delete(event.data.m);
  for (const m of missing) throw new StudioError('usage', `Message ${m} is not among the shared events 1 to ${cut}.`);
}

/** Yields the events whose text contains `needle`; only those are parsed. */
async function* eventsOf(
  services: Services,
  rollout: RolloutRecord,
  after: number,
  until: number,
  needle: string,
): AsyncGenerator<TraceEvent> {
  const reader = new StreamReader(services.store, rollout.row.rollout, rollout.lineage);
  for await (const bodies of reader.all(after, until, READ_BYTES)) {
    // validated before it was stored
    for (const body of bodies) if (body.includes(needle)) yield JSON.parse(body) as TraceEvent;
  }
}
