import type { PredictedCall } from './statistics.ts';

/** Accuracy of the predictions at one turn of all rollouts. */
export interface TurnAccuracy {
  readonly turn: number;
  /** Calls with a value. */
  readonly calls: number;
  /** Their mean, from 0 to 1. */
  readonly accuracy: number;
}

/** Returns the accuracy by turn, up to the last turn that any call has: where a world drifts, it falls. */
export function accuracyByTurn(calls: Iterable<Pick<PredictedCall, 'turn' | 'value'>>): TurnAccuracy[] {
  const sums = new Map<number, { calls: number; sum: number }>();
  for (const { turn, value } of calls) {
    if (value === null) continue;
    const { calls: count, sum } = sums.get(turn) ?? { calls: 0, sum: 0 };
    sums.set(turn, { calls: count + 1, sum: sum + value });
  }
  return [...sums]
    .map(([turn, { calls: count, sum }]) => ({ turn, calls: count, accuracy: sum / count }))
    .sort((a, b) => a.turn - b.turn);
}

/** Returns the calls with the worst predictions first: those without a prediction, then by value. */
export function worstFirst<C extends Pick<PredictedCall, 'value' | 'rollout' | 'seq'>>(calls: readonly C[]): C[] {
  return calls.toSorted(
    (a, b) =>
      (a.value ?? -1) - (b.value ?? -1) || (a.rollout === b.rollout ? a.seq - b.seq : a.rollout < b.rollout ? -1 : 1),
  );
}
