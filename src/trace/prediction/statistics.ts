/** How well worlds predicted tool calls. Defined here once, for reports and pages. */
import type { TrajectoryModel } from '../model.ts';
import type { Prediction, TraceError } from '../schema.ts';
import { PREDICTION_PARTS, type PredictionPart } from './difference.ts';

/** The scorer of predictions. */
export const PREDICTION_SCORER = 'prediction';

/** A call that a world predicted. */
export interface PredictedCall {
  readonly rollout: string;
  /** seq of its start: `ROLLOUT@SEQ` is its reference. */
  readonly seq: number;
  readonly tool: string;
  /** Number of the call among all tool calls of its rollout, from 1. */
  readonly turn: number;
  readonly world: string;
  readonly how: Prediction['how'];
  /** Accuracy from 0 to 1; null if the world gave no prediction, or its judge no marks. */
  readonly value: number | null;
  /** Shares of what agrees, from 0 to 1, and marks of a judge, from 1 to 5. */
  readonly parts: Readonly<Record<string, number>>;
  readonly explanation: string | undefined;
  readonly error: TraceError | undefined;
}

/**
 * Returns the predicted calls of a rollout, without those that it shares with the parent of its fork, or with the
 * rollout that it scores again.
 */
export function predictedCalls(model: TrajectoryModel, rollout: string): PredictedCall[] {
  const { fork, rescores } = model.start?.data ?? {};
  const shared = (fork ?? rescores)?.seq ?? 0;
  return model.tools.flatMap((span, index): PredictedCall[] => {
    if (span.seq <= shared) return [];
    return model.scoresOf(span.seq).flatMap(({ data }): PredictedCall[] => {
      if (data.prediction === undefined) return [];
      const { world, how } = data.prediction;
      return [
        {
          rollout,
          seq: span.seq,
          tool: span.start.data.name,
          turn: index + 1,
          world,
          how,
          value: data.value,
          parts: data.parts ?? {},
          explanation: data.explanation,
          error: data.error,
        },
      ];
    });
  });
}

/** Accuracy of a group of predictions. */
export interface PredictionAccuracy {
  /** What the group has in common. */
  readonly name: string;
  /** Number of predicted calls, with those that failed. */
  readonly calls: number;
  /** Calls without a value; they do not count in the mean. */
  readonly failed: number;
  /** Mean from 0 to 1; null without a value. */
  readonly accuracy: number | null;
  /** Means of the shares, of the calls that have them. */
  readonly parts: { readonly [P in PredictionPart]?: number };
  /** Calls with a value of 1. */
  readonly right: number;
}

/** Returns the accuracy of each group, the worst first; groups without a value are last. */
export function predictionAccuracy(
  calls: Iterable<PredictedCall>,
  groupOf: (call: PredictedCall) => string,
): PredictionAccuracy[] {
  const groups = new Map<string, PredictionTally>();
  for (const call of calls) {
    const name = groupOf(call);
    let tally = groups.get(name);
    if (tally === undefined) groups.set(name, (tally = new PredictionTally()));
    tally.add(call);
  }
  return [...groups]
    .map(([name, tally]) => tally.accuracy(name))
    .sort((a, b) => (a.accuracy ?? 2) - (b.accuracy ?? 2) || b.calls - a.calls || (a.name < b.name ? -1 : 1));
}

/** Sums up predictions one by one, in constant memory. */
export class PredictionTally {
  #calls = 0;
  #right = 0;
  readonly #value = { sum: 0, count: 0 };
  readonly #parts = new Map<PredictionPart, { sum: number; count: number }>();

  add({ value, parts }: Pick<PredictedCall, 'value' | 'parts'>): void {
    this.#calls++;
    if (value === null) return;
    this.#value.sum += value;
    this.#value.count++;
    if (value === 1) this.#right++;
    for (const part of PREDICTION_PARTS) {
      const share = parts[part];
      if (share === undefined) continue;
      const { sum, count } = this.#parts.get(part) ?? { sum: 0, count: 0 };
      this.#parts.set(part, { sum: sum + share, count: count + 1 });
    }
  }

  accuracy(name: string): PredictionAccuracy {
    const { sum, count } = this.#value;
    return {
      name,
      calls: this.#calls,
      failed: this.#calls - count,
      accuracy: count === 0 ? null : sum / count,
      parts: Object.fromEntries([...this.#parts].map(([part, { sum, count }]) => [part, sum / count])),
      right: this.#right,
    };
  }
}
