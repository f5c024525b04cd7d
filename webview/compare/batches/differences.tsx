/** Shows the differences in pass@k and in how agents called their tools, with their intervals, one line for each. */
import type { Comparison } from '../../../src/trace/statistics/schema.ts';

/** Maximum number of k. The command line reports more. */
const MOST = 4;

type Difference = NonNullable<Comparison['pass_at']>[string];

export function Differences({ comparison }: { readonly comparison: Comparison }) {
  const { pass_at: table, calls, why, intervals } = comparison;
  const ks = Object.keys(table ?? {})
    .map(Number)
    .sort((a, b) => a - b)
    .slice(0, MOST);
  const rows: (readonly [name: string, difference: Difference | undefined, title?: string])[] = [
    ...ks.map((k) => [`pass@${k}`, table?.[k]] as const),
    ...(calls === null
      ? []
      : ([
          [
            'tool success',
            calls.tool_success,
            `Calls that succeeded: ${calls.baseline.succeeded} of ${calls.baseline.made} before, ` +
              `${calls.here.succeeded} of ${calls.here.made} after`,
          ],
          [
            'parameter accuracy',
            calls.parameter_accuracy,
            'Calls whose arguments are valid and, if another attempt that passed called the tool, equal to one of ' +
              `its calls: ${calls.baseline.right} of ${calls.baseline.made} before, ` +
              `${calls.here.right} of ${calls.here.made} after`,
          ],
        ] as const)),
  ];
  const reason =
    table === null ? (
      <p class="batches-why">No paired difference of pass@k: {why['pass_at'] ?? 'nothing scored yet'}.</p>
    ) : ks.length === 0 ? (
      <p class="batches-why">No paired difference of pass@k: no task has scored attempts in both batches.</p>
    ) : null;
  if (rows.length === 0) return reason;
  return (
    <>
      {reason}
      <table
        class="batches-differences"
        aria-label={`Paired differences, intervals of ${Math.round(intervals.level * 100)}%, ${intervals.method}`}
      >
        <thead>
          <tr>
            <th scope="col">
              <span class="only-read">Rate</span>
            </th>
            <th scope="col">before</th>
            <th scope="col">after</th>
            <th scope="col">difference</th>
            <th scope="col" class="batches-scale">
              −1 … +1, {Math.round(intervals.level * 100)}%
            </th>
            <th scope="col">tasks</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, difference, title]) =>
            difference === undefined ? null : <Row key={name} name={name} title={title} {...difference} />,
          )}
        </tbody>
      </table>
    </>
  );
}

function Row({
  name,
  title,
  here,
  baseline,
  difference,
  interval,
  tasks,
}: Difference & { readonly name: string; readonly title: string | undefined }) {
  const sure = interval !== null && (interval[0] > 0 || interval[1] < 0);
  return (
    <tr title={title}>
      <th scope="row">{name}</th>
      <td>{baseline.toFixed(2)}</td>
      <td>{here.toFixed(2)}</td>
      <td>
        <b>{signed(difference)}</b>
        {interval !== null && (
          <span class="dim">
            {' '}
            {signed(interval[0])} … {signed(interval[1])}
          </span>
        )}
        <span class="dim">{sure ? '' : ', not significant'}</span>
      </td>
      <td class="batches-scale">
        <Scale difference={difference} interval={interval} />
      </td>
      <td>{tasks}</td>
    </tr>
  );
}

function Scale({
  difference,
  interval,
}: {
  readonly difference: number;
  readonly interval: readonly [number, number] | null;
}) {
  const at = (value: number): number => ((value + 1) / 2) * 100;
  return (
    <span class="batches-track" aria-hidden="true">
      <i class="batches-zero" />
      {interval !== null && (
        <i
          class={`batches-interval${difference < 0 ? ' is-worse' : ''}`}
          style={{ left: `${at(interval[0])}%`, width: `${at(interval[1]) - at(interval[0])}%` }}
        />
      )}
      <i class="batches-point" style={{ left: `${at(difference)}%` }} />
    </span>
  );
}

/** Formats `+0.13`, `−0.04`, `0.00`. */
export function signed(value: number): string {
  const text = Math.abs(value).toFixed(2);
  return text === '0.00' ? text : `${value < 0 ? '−' : '+'}${text}`;
}
