/** What is known about predictions of a call: those that were recorded with it, and the newest one of the window. */
import type { Json } from '../../../../src/common/json.ts';
import type { PredictedCall, WindowPrediction } from '../../../../src/protocol/predictedCall.ts';
import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import { predictionsOf } from '../../../../src/trace/prediction/ofCall.ts';
import type { EventData, TraceError } from '../../../../src/trace/schema.ts';
import type { TrajectoryView } from '../../view.ts';

export interface CallPrediction {
  readonly key: string;
  readonly world: string;
  /** How it came about, after the name of the world. */
  readonly about: string;
  /** The response that the agent would have got. */
  readonly response: Json | undefined;
  readonly error: TraceError | undefined;
  /** Of a recorded one. */
  readonly score?: EventData['score'];
  /** Of one that a person asked for, which is not recorded. */
  readonly asked?: PredictedCall;
  /** seq of the side call that made it. */
  readonly side?: number;
}

const HOW = {
  shadow: 'before the call',
  forced: 'after the recorded calls',
  free: 'after its own predictions',
} as const;

/** Returns the newest prediction of the window first, if it is one. */
export function callPredictions(view: TrajectoryView, span: ToolSpan): CallPrediction[] {
  const { model } = view.data;
  const asked = windowPrediction(view, span.seq)?.state;
  const sides = (model.step(span.step)?.sides ?? []).filter(
    ({ start }) => start.parent === span.seq && start.data.side !== 'world' && start.data.side !== 'judge',
  );
  const recorded = predictionsOf(model, span.seq).map(({ seq, data }): CallPrediction => {
    const { world = '', how = 'shadow', response } = data.prediction ?? {};
    const side = sides.find(({ start, end }) => start.data.side === 'shadow' && (end?.seq ?? 0) < seq)?.seq;
    return {
      ...{ key: String(seq), world, about: HOW[how], response, error: data.error, score: data },
      ...(side === undefined ? {} : { side }),
    };
  });
  if (asked?.is !== 'done') return recorded;
  const { world, prediction, error } = asked.call;
  const about = world.model === undefined ? 'from recordings' : `by ${world.model}`;
  const own: CallPrediction = {
    ...{ key: 'asked', world: world.name, about, response: prediction, error, asked: asked.call },
  };
  return [own, ...recorded];
}

export function windowPrediction(view: TrajectoryView, seq: number): WindowPrediction | undefined {
  return view.host.predictions.value.find((one) => one.seq === seq && one.rollout === view.data.rollout);
}
