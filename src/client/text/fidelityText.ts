/** Formats the fidelity of a world for a terminal. */
import { plural } from '../../common/text.ts';
import { compact, count, percent } from '../../common/units.ts';
import type { PredictionAccuracy } from '../../trace/prediction/statistics.ts';
import type { Estimate } from '../fidelity/estimate.ts';
import type { BatchFidelity } from '../fidelity/readReport.ts';
import { table } from './table.ts';

const MODES = { forced: 'teacher-forced', free: 'free-running', shadow: 'as a shadow' } as const;

export function fidelityText(report: BatchFidelity): string {
  const { world, how, calls, right, failed, accuracy, marks = {}, tokens, cost, worst } = report;
  const share = (value: number | null): string => (value === null ? '–' : percent(value));
  const used = tokens.input + tokens.output;
  const head = [
    `${world}, ${MODES[how]}: ${share(accuracy.micro)} accurate (macro ${share(accuracy.macro)})`,
    `${count(right)} of ${plural(calls, 'call')} right${failed === 0 ? '' : `, ${count(failed)} without a prediction`}`,
    ...(used === 0 ? [] : [`${compact(used)} tokens of the world and its judge${moneyOf(cost)}`]),
  ];
  const marked = Object.entries(marks);
  const sections = [
    head.join('\n'),
    groups('tool', report.by_tool),
    ...(report.by_domain.length > 1 ? [groups('domain', report.by_domain)] : []),
    turns(report),
    ...(marked.length === 0
      ? []
      : [
          table(
            [
              ['mark (1–5)', 'micro', 'macro'],
              ...marked.map(([name, { micro, macro }]) => [name, micro.toFixed(2), macro.toFixed(2)]),
            ],
            [1, 2],
          ),
        ]),
    ...(worst.length === 0
      ? []
      : [
          table(
            [
              ['worst calls', 'tool', 'turn', 'accuracy', 'error'],
              ...worst.map(({ call, tool, turn, value, fault }) => [
                call,
                tool,
                String(turn),
                share(value),
                fault === 'none' ? 'no prediction' : (fault ?? 'marks'),
              ]),
            ],
            [2, 3],
          ),
        ]),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

/** Returns `120 calls, 1.2M tokens, about $0.42`. */
export function estimateText({
  calls,
  model_calls: asked,
  input_tokens: input,
  output_tokens: output,
  cost,
}: Estimate): string {
  const models =
    asked === 0 ? 'no model is called' : `${plural(asked, 'model call')}, ${compact(input + output)} tokens`;
  return `${plural(calls, 'call')} to predict: ${models}${moneyOf(cost)}`;
}

function moneyOf(cost: number | undefined): string {
  return cost === undefined ? '' : `, $${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
}

function groups(name: string, list: readonly PredictionAccuracy[]): string {
  if (list.length === 0) return '';
  return table(
    [
      [name, 'accuracy', 'right', 'calls'],
      ...list.map(({ name: of, accuracy, right, calls }) => [
        of,
        accuracy === null ? '–' : percent(accuracy),
        count(right),
        count(calls),
      ]),
    ],
    [1, 2, 3],
  );
}

/** Turns in which accuracy is the same are joined. */
function turns({ by_turn: list }: BatchFidelity): string {
  const rows: { from: number; to: number; accuracy: string; calls: number }[] = [];
  for (const { turn, accuracy, calls } of list) {
    const last = rows.at(-1);
    const text = percent(accuracy);
    if (last !== undefined && last.accuracy === text) {
      last.to = turn;
      last.calls += calls;
    } else rows.push({ from: turn, to: turn, accuracy: text, calls });
  }
  if (rows.length === 0) return '';
  return table(
    [
      ['turn', 'accuracy', 'calls'],
      ...rows.map(({ from, to, accuracy, calls }) => [
        from === to ? String(from) : `${from}–${to}`,
        accuracy,
        count(calls),
      ]),
    ],
    [1, 2],
  );
}
