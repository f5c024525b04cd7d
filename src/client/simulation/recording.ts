/** Reads the calls of recorded attempts, from a store or from a file of another tool. */
import { StudioError } from '../../common/errors.ts';
import type { Recording, SeenCall } from '../../config/simulation/recording.ts';
import type { Api } from '../../protocol/api.ts';
import type { ToolSpan } from '../../trace/model/spans.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { definitionsIn } from '../../trace/recordedCalls/definitions.ts';
import type { Part, TraceEvent } from '../../trace/schema.ts';
import { unspill } from '../../trace/spill.ts';
import { isObserved, isRefused } from '../../trace/undone.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { importedRecords } from '../importFile.ts';
import { parseReference, resolveRollout } from '../reference.ts';

/**
 * Reads recorded attempts. `file`: the file that the reference names, if it names one; it may have several attempts.
 * Throws StudioError.
 */
export async function readRecordings(
  reference: string,
  file: string | undefined,
  connect: (() => Promise<Api>) | undefined,
  signal: AbortSignal,
): Promise<Recording[]> {
  if (file !== undefined) {
    const found: Recording[] = [];
    const records = await importedRecords(file, signal);
    for await (const { events } of records.rollouts()) found.push(recordingOf(modelOf(events)));
    return found;
  }
  const parsed = parseReference(reference);
  if (parsed.kind === 'batch')
    throw new StudioError('usage', `“${reference}” is a batch`, {
      hint: 'Choose one of its attempts, as BATCH/TASK/ATTEMPT.',
    });
  if (parsed.point.step !== undefined)
    throw new StudioError('usage', `“${reference}” names a step`, { hint: 'Write @SEQ instead of :STEP.' });
  if (connect === undefined)
    throw new StudioError('usage', 'recorded attempts cannot be read here', { hint: 'Use `rollout run`.' });
  const api = await connect();
  const rollout = await resolveRollout(api, parsed, signal);
  const model = new TrajectoryModel();
  const read = ({ $blob }: { readonly $blob: string }): Promise<Uint8Array> => api.getBlob($blob, signal);
  for await (const page of api.allEvents(rollout, signal, parsed.point.seq))
    model.push((await Promise.all(page.map((event) => unspill(event, read)))).map((event) => readEvent(event)));
  return [{ ...recordingOf(model), tools: await definitionsIn(model, read) }];
}

function modelOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

function recordingOf(model: TrajectoryModel): Recording {
  return {
    calls: model.tools.flatMap((span) => callOf(model, span)),
    changes: model.events.flatMap((event) =>
      !('unknown' in event) && event.kind === 'world.diff' ? event.data.changes : [],
    ),
    tools: [],
  };
}

/** Returns nothing for a call whose result no agent saw, and for one that was refused before it reached a tool. */
function callOf(model: TrajectoryModel, { seq, start, end }: ToolSpan): SeenCall[] {
  if (end === undefined || !isObserved(end.data)) return [];
  const { m, status, result, error } = end.data;
  // A world is never asked for such a call.
  if (error !== undefined && isRefused(error.class)) return [];
  const parts = m === undefined ? undefined : model.currentMessage(m)?.event.data.parts;
  const response = responseIn(parts) ?? result;
  if (response === undefined) return [];
  const { name, arguments: args } = start.data;
  return [{ seq, name, arguments: args, response, failed: status === 'error' }];
}

function responseIn(parts: readonly Part[] | undefined): SeenCall['response'] | undefined {
  return parts?.find((part) => part.type === 'tool_call_response')?.response;
}
