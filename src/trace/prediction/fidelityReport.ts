/** What a batch that compares a world with recordings came to, for programs and people. */
import { accuracyByTurn, type TurnAccuracy, worstFirst } from './byTurn.ts';
import { faultOf, isRight, type PredictionFault } from './fidelity.ts';
import { type PredictedCall, type PredictionAccuracy, PredictionTally, predictionAccuracy } from './statistics.ts';

/** Marks of a judge. */
const MARKS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;

export interface FidelityReport {
  readonly world: string;
  readonly how: PredictedCall['how'];
  /** Predicted calls. */
  readonly calls: number;
  /** Those that agree in everything that the world could know. */
  readonly right: number;
  /** Those without a prediction, or without marks. */
  readonly failed: number;
  /** Mean over the calls: micro; and over the means of the tools: macro. null without a value. */
  readonly accuracy: { readonly micro: number | null; readonly macro: number | null };
  readonly parts: PredictionAccuracy['parts'];
  /** Means of a judge's marks, from 1 to 5, over the calls and over the tools. Absent without a judge. */
  readonly marks?: Readonly<Record<string, { readonly micro: number; readonly macro: number }>>;
  /** Number of calls by what is wrong with them. */
  readonly faults: Readonly<Partial<Record<PredictionFault, number>>>;
  readonly by_tool: readonly PredictionAccuracy[];
  readonly by_domain: readonly PredictionAccuracy[];
  readonly by_turn: readonly TurnAccuracy[];
  /** The worst calls first. */
  readonly worst: readonly WorstCall[];
}

export interface WorstCall {
  /** `ROLLOUT@SEQ` in this batch. */
  readonly call: string;
  readonly tool: string;
  readonly turn: number;
  readonly value: number | null;
  readonly fault: PredictionFault | undefined;
  readonly explanation?: string;
}

interface ReportOptions {
  readonly world: string;
  readonly how: PredictedCall['how'];
  /** Number of calls to list. */
  readonly worst: number;
  readonly domainOf: (call: PredictedCall) => string;
}

export function fidelityReport(calls: readonly PredictedCall[], options: ReportOptions): FidelityReport {
  const tally = new PredictionTally();
  for (const call of calls) tally.add(call);
  const { failed, accuracy, parts } = tally.accuracy('all');
  const byTool = predictionAccuracy(calls, ({ tool }) => tool);
  const marks = marksOf(calls);
  const faults: Partial<Record<PredictionFault, number>> = {};
  for (const call of calls) {
    const fault = faultOf(call);
    if (fault !== undefined) faults[fault] = (faults[fault] ?? 0) + 1;
  }
  return {
    world: options.world,
    how: options.how,
    calls: calls.length,
    right: calls.filter(isRight).length,
    failed,
    accuracy: { micro: accuracy, macro: meanOf(byTool.flatMap((each) => each.accuracy ?? [])) ?? null },
    parts,
    ...(Object.keys(marks).length === 0 ? {} : { marks }),
    faults,
    by_tool: byTool,
    by_domain: predictionAccuracy(calls, options.domainOf),
    by_turn: accuracyByTurn(calls),
    worst: worstFirst(calls)
      .filter((call) => !isRight(call))
      .slice(0, options.worst)
      .map((call) => ({
        call: `${call.rollout}@${call.seq}`,
        tool: call.tool,
        turn: call.turn,
        value: call.value,
        fault: faultOf(call),
        ...(call.explanation === undefined ? {} : { explanation: call.explanation }),
      })),
  };
}

function marksOf(calls: readonly PredictedCall[]): NonNullable<FidelityReport['marks']> {
  const tools = Map.groupBy(calls, ({ tool }) => tool);
  return Object.fromEntries(
    MARKS.flatMap((mark) => {
      const given = (of: readonly PredictedCall[]): number[] => of.flatMap(({ parts }) => parts[mark] ?? []);
      const micro = meanOf(given(calls));
      const macro = meanOf([...tools.values()].flatMap((of) => meanOf(given(of)) ?? []));
      return micro === undefined || macro === undefined ? [] : [[mark, { micro, macro }]];
    }),
  );
}

function meanOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
