/** Finds final states of rollouts that passed, to measure verifiers with. */
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { type SubmittedCodeWorld, submission as submissionSchema } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { wholeValue } from '../../trace/spill.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { isBlobRef, unescapeKeys } from '../../trace/values/keys.ts';
import { batchTasks } from '../batchTasks.ts';

/** Batches that are looked at if none is named. */
const NEWEST = 20;
/** Rollouts of each task that are tried. */
const CANDIDATES = 3;

export interface PassingRollout {
  readonly rollout: string;
  /** Index of the task, as published. */
  readonly task: number;
  /** Hash of the scenario's initial state. */
  readonly template: string;
}

/** Returns passing rollouts by scenario, the newest first. `batch`: only of this one. */
export async function passingRollouts(
  api: Api,
  scenarios: ReadonlySet<string>,
  batch: string | undefined,
  signal: AbortSignal,
): Promise<Map<string, PassingRollout[]>> {
  const found = new Map<string, PassingRollout[]>();
  const batches =
    batch === undefined ? (await api.batches({ limit: NEWEST }, signal)).batches : [await api.batch(batch, signal)];
  for (const row of batches) await addPassing(api, row, scenarios, found, signal);
  return found;
}

/** Returns the answer of a rollout and the last state of its world; undefined if that was not kept. */
export async function finalState(
  api: Api,
  rollout: string,
  signal: AbortSignal,
): Promise<{ readonly answer: Json; readonly state: Uint8Array } | undefined> {
  let snapshot: string | undefined;
  let kept: Json = null;
  for await (const page of api.allEvents(rollout, signal))
    for (const raw of page) {
      const event = readEvent(raw);
      if ('unknown' in event) continue;
      if (event.kind === 'world.snapshot') snapshot = event.data.snapshot;
      // It has changed since.
      else if (event.kind === 'world.diff') snapshot = undefined;
      else if (event.kind === 'rollout.end') kept = event.data.answer;
    }
  if (snapshot === undefined) return undefined;
  const state = await stored(api, snapshot, signal);
  if (state === undefined) return undefined;
  if (!isBlobRef(kept)) return { answer: unescapeKeys(kept), state };
  const bytes = await stored(api, kept.$blob, signal);
  return bytes === undefined ? undefined : { answer: wholeValue(kept, bytes), state };
}

/** Returns a blob; undefined if it was not kept. */
async function stored(api: Api, sha: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    return await api.getBlob(sha, signal);
  } catch (error) {
    if (StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}

async function addPassing(
  api: Api,
  row: BatchRow,
  scenarios: ReadonlySet<string>,
  found: Map<string, PassingRollout[]>,
  signal: AbortSignal,
): Promise<void> {
  const { batch } = row;
  const world = await codeWorldOf(api, row, signal);
  if (world === undefined || !Object.keys(world.scenarios).some((name) => scenarios.has(name))) return;
  const passed = new Map<string, string[]>();
  for await (const { task, rollout, progress, settles, duplicate_of } of api.allRollouts(batch, {}, signal)) {
    if (progress.passed !== true || !settles || duplicate_of !== undefined) continue;
    passed.set(task, [rollout, ...(passed.get(task) ?? [])].slice(0, CANDIDATES));
  }
  if (passed.size === 0) return;
  for await (const { id, world: start, meta } of batchTasks(api, batch, signal)) {
    const scenario = start?.scenario;
    const task = Number(meta['task_idx']);
    const own = scenario === undefined ? undefined : world.scenarios[scenario];
    if (scenario === undefined || own === undefined || !scenarios.has(scenario) || !Number.isInteger(task)) continue;
    const of = (passed.get(id) ?? []).map((rollout) => ({ rollout, task, template: own.template }));
    found.set(scenario, [...(found.get(scenario) ?? []), ...of]);
  }
}

/** Returns the code world of a batch that ran here; undefined for others, and those of an older version. */
export async function codeWorldOf(
  api: Api,
  { submission, imported, rescores }: Pick<BatchRow, 'submission' | 'imported' | 'rescores'>,
  signal: AbortSignal,
): Promise<SubmittedCodeWorld | undefined> {
  if (imported || rescores !== undefined) return undefined;
  const bytes = await stored(api, submission, signal);
  const { data } = submissionSchema.safeParse(
    bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString()),
  );
  return data?.world?.kind === 'code' ? data.world : undefined;
}
