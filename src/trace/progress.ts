/**
 * The part of a rollout's summary row that follows from its own events. Runs in every transaction that appends events,
 * so it allocates nothing for events that change nothing.
 */
import { causeOfEnding, causeOfScore, causeWithoutScore } from './cause.ts';
import { holdSummary } from './holder.ts';
import { afterCall, afterHandover, afterLease, afterScore } from './incidents/ofRollout.ts';
import { NO_FAULTS } from './recovery.ts';
import type { EventOf, TraceEvent, UnknownEvent } from './schema.ts';
import type { Progress } from './summary.ts';
import { rangeOf } from './weights.ts';

/**
 * Characters of an error message in a row: enough to include a hint that follows the message of an endpoint. The event
 * has the whole message.
 */
const ERROR_TEXT = 600;
/** Parts of a score in a row: rows are many, and a scorer may have any number of parts. */
const MAX_MARKS = 12;

/**
 * Returns the row after these events, which follow those already counted. Pure: returns `progress` itself if nothing
 * changed.
 *
 * Counts only events of the stream itself, not those that a fork shares with its parent. Calls of side models are
 * counted separately. Tokens are those of
 * `model.end.usage`; a call without it adds none. `started_at` and `ended_at` stay absent in streams without times.
 */
export function advanceProgress(progress: Progress, events: readonly (TraceEvent | UnknownEvent)[]): Progress {
  let next = progress;
  for (const event of events) {
    if ('unknown' in event || !changesRow(event, next)) continue;
    if (next === progress) next = { ...progress };
    apply(next, event);
  }
  return next;
}

function changesRow(event: TraceEvent, row: Progress): boolean {
  switch (event.kind) {
    case 'rollout.start':
    case 'model.start':
    case 'tool.start':
    case 'tool.end':
    case 'hold':
    case 'rollout.handover':
    case 'rollout.end':
      return true;
    case 'score':
      return event.span === undefined; // not of a single call
    case 'model.end':
      return (
        event.data.usage !== undefined ||
        event.data.weights !== undefined ||
        event.data.drift !== undefined ||
        event.data.source === 'edited' ||
        event.data.retries !== undefined ||
        event.data.paused_ms !== undefined ||
        isSide(event, row)
      );
    case 'release':
      return row.hold !== undefined;
    case 'rollout.lease':
      return row.hold !== undefined || event.data.how === 'resumed';
    case 'message':
    case 'edit':
      return touches(event, row);
    default:
      return false;
  }
}

function apply(row: Progress, event: TraceEvent): void {
  switch (event.kind) {
    case 'rollout.start':
      if (event.data.times !== 'none') row.started_at = event.at;
      if (event.data.part !== undefined) row.part = event.data.part;
      return;
    case 'model.start':
      if (event.data.side !== undefined) {
        row.open_side = [...(row.open_side ?? []), event.seq];
        return;
      }
      if (event.data.step > (row.step ?? 0)) {
        row.steps += 1;
        row.step = event.data.step;
      }
      return;
    case 'model.end':
      if (isSide(event, row)) applySideEnd(row, event);
      else {
        addUsage(row, event);
        addWeights(row, event);
        if (event.data.drift !== undefined) row.drifts = (row.drifts ?? 0) + 1;
      }
      if (event.data.source === 'edited') row.touched = true;
      setIncidents(row, afterCall(row.incidents, event.data));
      return;
    case 'tool.start':
      row.tool_calls += 1;
      if (!row.tools.includes(event.data.name)) row.tools = [...row.tools, event.data.name];
      row.open_calls = {
        ...row.open_calls,
        [event.seq]: { tool: event.data.name, ...(event.data.effect === 'restorable' ? { of_world: true } : {}) },
      };
      return;
    case 'tool.end':
      if (touches(event, row)) row.touched = true;
      if (event.data.injected !== undefined) countInjected(row, event.data.injected);
      applyCallEnd(row, event);
      return;
    case 'score': {
      const cause = causeOfScore(event.data, event.seq, row.failed_call);
      if (cause === undefined) delete row.cause;
      else row.cause = cause;
      if (event.data.outcome !== undefined) row.world_outcome = event.data.outcome;
      setIncidents(row, afterScore(row.incidents, event.data));
      if (event.data.parts !== undefined && event.data.prediction === undefined)
        row.marks = Object.fromEntries(Object.entries(event.data.parts).slice(0, MAX_MARKS));
      return;
    }
    case 'hold': {
      row.hold = holdSummary(event);
      return;
    }
    case 'rollout.lease': // the new worker holds at its gate again, with a hold event of its own
      delete row.hold;
      setIncidents(row, afterLease(row.incidents, event.data));
      return;
    case 'rollout.handover':
      setIncidents(row, afterHandover(row.incidents));
      return;
    case 'release':
      delete row.hold;
      return;
    case 'message':
    case 'edit':
      row.touched = true;
      return;
    case 'rollout.end':
      applyEnd(row, event);
      return;
    default:
  }
}

function setIncidents(row: Progress, incidents: Progress['incidents']): void {
  if (incidents !== undefined) row.incidents = incidents;
}

const NO_SIDE = { calls: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0 } as const;

function isSide({ span }: EventOf<'model.end'>, row: Progress): boolean {
  return span !== undefined && row.open_side?.includes(span) === true;
}

function applySideEnd(row: Progress, event: EventOf<'model.end'>): void {
  const open = row.open_side?.filter((seq) => seq !== event.span) ?? [];
  if (open.length === 0) delete row.open_side;
  else row.open_side = open;
  const { status, error, source } = event.data;
  if (status === 'cut' || error?.class === 'infrastructure') return; // lost with its worker: it is repeated
  if (source === 'recorded') return; // counted when it was asked
  row.side = { ...NO_SIDE, ...row.side, calls: (row.side?.calls ?? 0) + 1 };
  addUsage(row.side, event);
}

function addUsage(
  sums: Pick<Progress, 'input_tokens' | 'output_tokens' | 'cached_tokens'>,
  { data: { usage } }: EventOf<'model.end'>,
): void {
  sums.input_tokens += usage?.input_tokens ?? 0;
  sums.output_tokens += usage?.output_tokens ?? 0;
  sums.cached_tokens += usage?.cached_tokens ?? 0;
}

/** Adds the versions of the weights that sampled a reply. */
function addWeights(row: Progress, { agent = '', data: { weights, weights_from: from } }: EventOf<'model.end'>): void {
  if (weights === undefined) return;
  const range = rangeOf([...(row.weights?.[agent] ?? []), from ?? weights, weights]);
  if (range !== undefined) row.weights = { ...row.weights, [agent]: [...range] };
}

/**
 * Returns whether somebody changed the rollout while it ran. The initial edits of a fork precede any hold, so they do
 * not count. An injected message looks like any other input message, so `rollout.end` decides in the end.
 */
function touches(event: EventOf<'tool.end' | 'message' | 'edit'>, row: Progress): boolean {
  if (row.touched) return false;
  switch (event.kind) {
    case 'tool.end':
      return event.data.source === 'edited';
    case 'message':
      return row.hold !== undefined && event.data.origin === 'edited';
    case 'edit':
      return row.hold !== undefined;
  }
}

function applyCallEnd(row: Progress, { span, data: { status, error } }: EventOf<'tool.end'>): void {
  const call = span === undefined ? undefined : row.open_calls?.[span];
  if (span === undefined || call === undefined) return;
  const { [span]: _ended, ...open } = row.open_calls ?? {};
  if (Object.keys(open).length === 0) delete row.open_calls;
  else row.open_calls = open;
  if (error !== undefined) row.failed_call = { seq: span, class: error.class, ...call };
  else if (status === 'ok' && row.failed_call?.tool === call.tool) delete row.failed_call;
}

function countInjected(row: Progress, rule: string): void {
  const counts = row.faults?.[rule] ?? NO_FAULTS;
  row.faults = { ...row.faults, [rule]: { ...counts, injected: counts.injected + 1 } };
}

function applyEnd(row: Progress, event: EventOf<'rollout.end'>): void {
  const { status, passed, reward, answer, touched, error, totals, faults, rates, predictions, calls, fingerprint } =
    event.data;
  delete row.hold;
  row.status = status;
  row.passed = passed;
  row.reward = reward;
  row.touched = touched;
  if (row.started_at !== undefined) row.ended_at = event.at;
  if (error !== undefined) {
    row.error_class = error.class;
    row.error_message = error.message.slice(0, ERROR_TEXT);
    if (error.limit !== undefined) row.limit = error.limit;
  }
  if (passed === true) delete row.cause;
  else if (error !== undefined) row.cause = causeOfEnding(error);
  else row.cause ??= causeWithoutScore(answer, row.failed_call);
  delete row.open_calls;
  delete row.open_side;
  delete row.failed_call;
  if (totals.side?.cost !== undefined) row.side = { ...NO_SIDE, ...row.side, cost: totals.side.cost };
  if (faults !== undefined) row.faults = faults;
  if (rates !== undefined) row.rates = rates;
  if (predictions !== undefined) row.predictions = predictions;
  if (calls !== undefined) row.calls = calls;
  if (totals.ms !== undefined) row.ms = totals.ms;
  if (totals.cost !== undefined) row.cost = totals.cost;
  if (fingerprint !== undefined) row.fingerprint = fingerprint;
}
