/** Computes the bars that show how a step spent its time. */
import { startedAtOf } from '../../../../src/trace/callTimes.ts';
import type { ModelSpan, ToolSpan } from '../../../../src/trace/model/spans.ts';
import type { Step } from '../../../../src/trace/model/step.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { Pause } from '../../../../src/trace/schema.ts';
import { holdLabel, WAITED_FOR } from '../../../../src/trace/text/labels.ts';
import { troubleOf } from '../../../../src/trace/trouble.ts';

export interface TimeBar {
  readonly name: string;
  readonly kind:
    | 'step'
    | 'model'
    | 'queued'
    | 'waiting'
    | 'prefill'
    | 'generating'
    | 'tool'
    | 'error'
    | 'interrupted'
    | 'held';
  readonly depth: number;
  /** Milliseconds since the start of the step. */
  readonly from: number;
  readonly ms: number;
  /** Whether it has not ended; `ms` is the time so far. */
  readonly open: boolean;
  /** seq of the event that it represents. */
  readonly seq?: number;
}

/** Returns no bars for a stream without timings. `now`: the newest recorded time, as the end of open calls. */
export function timeBars(model: TrajectoryModel, step: Step, now: number): TimeBar[] {
  if (!model.timed || step.model === undefined) return [];
  const start = step.model.start.at;
  const bars: TimeBar[] = [...modelBars(model, step.model, now)];
  for (const tool of step.tools) bars.push(toolBar(model, tool, start, now));
  for (const span of [step.model, ...step.tools]) {
    for (const hold of model.holdsOf(span.seq)) {
      const ms = hold.release?.data.held_ms ?? Math.max(0, now - hold.event.at);
      bars.push({
        name: `paused (${holdLabel(hold.event.data.why)})`,
        kind: 'held',
        depth: 1,
        from: hold.event.at - start,
        ms,
        open: hold.release === undefined,
        seq: hold.event.seq,
      });
    }
  }
  const whole = bars.reduce((most, bar) => Math.max(most, bar.from + bar.ms), 0);
  return [
    { name: `step ${step.index}`, kind: 'step', depth: 0, from: 0, ms: whole, open: bars.some((bar) => bar.open) },
    ...bars,
  ];
}

function modelBars(model: TrajectoryModel, span: ModelSpan, now: number): TimeBar[] {
  const end = span.end?.data;
  const { from, ms } = timesOf(model, span, span.start.at, now);
  const bars: TimeBar[] = [
    {
      name: 'model',
      kind: troubleOf(span) === 'interrupted' ? 'interrupted' : 'model',
      depth: 1,
      from,
      ms,
      open: end === undefined,
      seq: span.seq,
    },
  ];
  if (end === undefined) return bars;
  const { queue_ms: queued, paused_ms: paused, waited_ms: waited, waited_for: reason, first_ms: first, usage } = end;
  if (waited !== undefined && waited > 0)
    bars.push({
      name: `waiting${reason === undefined ? '' : `: ${WAITED_FOR[reason]}`}`,
      kind: 'waiting',
      depth: 2,
      from: 0,
      ms: waited,
      open: false,
    });
  if (paused !== undefined && paused > 0)
    bars.push({ name: pausedText(end.pause), kind: 'waiting', depth: 2, from: 0, ms: paused, open: false });
  const generated = usage?.output_tokens;
  if (queued !== undefined)
    bars.push({ name: 'queued at the model server', kind: 'queued', depth: 2, from, ms: queued, open: false });
  if (first !== undefined) {
    const before = queued ?? 0;
    const cached = usage?.cached_tokens;
    const prompt =
      usage === undefined
        ? ''
        : ', ' +
          `${cached === undefined ? usage.input_tokens : `${usage.input_tokens - cached} of ${usage.input_tokens}`} ` +
          'tokens';
    bars.push({
      name: queued === undefined ? 'time to first token' : `prefill${prompt}`,
      kind: queued === undefined ? 'waiting' : 'prefill',
      depth: 2,
      from: from + before,
      ms: Math.max(0, first - before),
      open: false,
    });
    const rest = Math.max(0, ms - first);
    const speed =
      generated === undefined || rest === 0 ? '' : `, ${generated} tokens, ${Math.round(generated / (rest / 1000))}/s`;
    bars.push({ name: `generating${speed}`, kind: 'generating', depth: 2, from: from + first, ms: rest, open: false });
  }
  return bars;
}

function toolBar(model: TrajectoryModel, span: ToolSpan, start: number, now: number): TimeBar {
  return {
    name: span.start.data.name,
    kind: troubleOf(span) ?? 'tool',
    depth: 1,
    ...timesOf(model, span, start, now),
    open: span.end === undefined,
    seq: span.seq,
  };
}

/** Returns when a call started, and for how long it ran. One that never started took no time. */
function timesOf(
  model: TrajectoryModel,
  span: ModelSpan | ToolSpan,
  start: number,
  now: number,
): Pick<TimeBar, 'from' | 'ms'> {
  const end = span.end?.at ?? now;
  const started = startedAtOf(model, span) ?? end;
  return { from: started - start, ms: span.end?.data.ms ?? Math.max(0, end - started) };
}

/** Says for whom a call waited during a pause. */
function pausedText(pause: Pause | undefined): string {
  if (pause === undefined) return 'waiting: endpoint paused';
  return `waiting: ${pause.endpoint} paused${pause.by === undefined ? '' : ` by ${pause.by}`}`;
}
