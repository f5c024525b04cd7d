/** Shows the differences in pass@k with their intervals, one line for each k. */
import type { Comparison } from '../../../src/trace/statistics/schema.ts';

/** Maximum number of lines. The command line reports more. */
const MOST = 4;

export function Differences({ comparison }: { readonly comparison: Comparison }) {
  const { pass_at: table, why, intervals } = comparison;
  if (table === null) return <p class="batches-why">No paired difference: {why['pass_at'] ?? 'nothing scored yet'}.</p>;
  const ks = Object.keys(table)
    .map(Number)
    .sort((a, b) => a - b)
    .slice(0, MOST);
  if (ks.length === 0)
    return <p class="batches-why">No paired differences: no task has scored attempts in both batches.</p>;
  return (
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
        {ks.map((k) => {
          const one = table[k];
          if (one === undefined) return null;
          const { here, baseline, difference, interval, tasks } = one;
          const sure = interval !== null && (interval[0] > 0 || interval[1] < 0);
          return (
            <tr key={k}>
              <th scope="row">pass@{k}</th>
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
        })}
      </tbody>
    </table>
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
