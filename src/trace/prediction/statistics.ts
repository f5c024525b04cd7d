/** How well worlds predicted tool calls. Defined here once, for reports and pages. */
import type { TrajectoryModel } from '../model.ts';
import {
  PREDICTION_PARTS,
  type PredictedTools,
  type PredictionPart,
  type PredictionSums,
} from '../schema/prediction.ts';
import type { Prediction, TraceError, TraceEvent } from '../schema.ts';
import { isRight } from './fidelity.ts';

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
  /** Calls in which it got everything right that it could know. */
  readonly right: number;
}

/** Returns the accuracy of each group, the worst first; groups without a value are last. */
export function predictionAccuracy<C extends PredictedCall>(
  calls: Iterable<C>,
  groupOf: (call: C) => string,
): PredictionAccuracy[] {
  const groups = new PredictionTallies();
  for (const call of calls) groups.of(groupOf(call)).add(call);
  return groups.accuracies();
}

/** Tallies by group, such as by tool. */
export class PredictionTallies {
  readonly #groups = new Map<string, PredictionTally>();

  of(name: string): PredictionTally {
    let tally = this.#groups.get(name);
    if (tally === undefined) this.#groups.set(name, (tally = new PredictionTally()));
    return tally;
  }

  addSums(groups: PredictedTools): void {
    for (const [name, sums] of Object.entries(groups)) this.of(name).addSums(sums);
  }

  /** Returns the accuracy of all groups together. */
  overall(): PredictionAccuracy {
    const all = new PredictionTally();
    for (const tally of this.#groups.values()) all.addSums(tally.sums());
    return all.accuracy('');
  }

  sums(): PredictedTools {
    return Object.fromEntries([...this.#groups].map(([name, tally]) => [name, tally.sums()]));
  }

  /** Returns the accuracy of each group, the worst first; groups without a value are last. */
  accuracies(): PredictionAccuracy[] {
    return [...this.#groups]
      .map(([name, tally]) => tally.accuracy(name))
      .sort((a, b) => (a.accuracy ?? 2) - (b.accuracy ?? 2) || b.calls - a.calls || (a.name < b.name ? -1 : 1));
  }
}

/** Sums up predictions one by one, in constant memory. */
export class PredictionTally {
  #calls = 0;
  #failed = 0;
  #right = 0;
  #value = 0;
  readonly #parts = new Map<PredictionPart, { calls: number; sum: number }>();

  add({ value, parts }: Pick<PredictedCall, 'value' | 'parts'>): void {
    this.#calls++;
    if (isRight({ value, parts })) this.#right++;
    if (value === null) {
      this.#failed++;
      return;
    }
    this.#value += value;
    for (const part of PREDICTION_PARTS) {
      const share = parts[part];
      if (share !== undefined) this.#addPart(part, 1, share);
    }
  }

  addSums({ calls, failed, right, value, parts }: PredictionSums): void {
    this.#calls += calls;
    this.#failed += failed;
    this.#right += right;
    this.#value += value;
    for (const part of PREDICTION_PARTS) {
      const of = parts[part];
      if (of !== undefined) this.#addPart(part, of.calls, of.sum);
    }
  }

  sums(): PredictionSums {
    return {
      calls: this.#calls,
      failed: this.#failed,
      right: this.#right,
      value: this.#value,
      parts: Object.fromEntries([...this.#parts].map(([part, of]) => [part, { ...of }])),
    };
  }

  accuracy(name: string): PredictionAccuracy {
    const valued = this.#calls - this.#failed;
    return {
      name,
      calls: this.#calls,
      failed: this.#failed,
      accuracy: valued === 0 ? null : this.#value / valued,
      parts: Object.fromEntries([...this.#parts].map(([part, { calls, sum }]) => [part, sum / calls])),
      right: this.#right,
    };
  }

  #addPart(part: PredictionPart, calls: number, sum: number): void {
    const old = this.#parts.get(part) ?? { calls: 0, sum: 0 };
    this.#parts.set(part, { calls: old.calls + calls, sum: old.sum + sum });
  }
}

/** Sums up the predictions of a rollout while it runs. Takes its own events only, not those of an ancestor. */
export class PredictionsOfRollout {
  readonly #tools = new Map<number, string>();
  readonly #tallies = new PredictionTallies();

  add(event: TraceEvent): void {
    if (event.kind === 'tool.start') this.#tools.set(event.seq, event.data.name);
    else if (event.kind === 'score' && event.span !== undefined && event.data.prediction !== undefined) {
      const tool = this.#tools.get(event.span);
      if (tool !== undefined) this.#tallies.of(tool).add({ value: event.data.value, parts: event.data.parts ?? {} });
    }
  }

  sums(): PredictedTools {
    return this.#tallies.sums();
  }
}
