/** The parts of the batch's mix, as `rollout report` has them. A click filters by a part. */
import { compact, count } from '../../../src/common/units.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import type { BatchView } from '../batchView.ts';
import { splitParts, togglePart } from '../model/filter.ts';
import { Panel } from './panel.tsx';
import './parts.css';

type Part = Report['by_part'][string];

interface PartsPanelProps {
  readonly view: BatchView;
  readonly parts: Report['by_part'];
}

export function PartsPanel({ view, parts }: PartsPanelProps) {
  const all = Object.entries(parts);
  return (
    <Panel name="parts" title="Parts" note={count(all.length)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <div class="part-rows" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">part</th>
              <th scope="col">attempts</th>
              <th scope="col">rate</th>
              <th scope="col">reward</th>
              <th scope="col">tokens</th>
            </tr>
          </thead>
          <tbody>
            {all.map(([name, part]) => (
              <tr key={name} title={titleOf(name, part)}>
                <th scope="row">
                  <PartButton view={view} name={name} />
                </th>
                <td>{count(part.attempts)}</td>
                <td>{rateOf(part)}</td>
                <td>
                  {part.mean?.toFixed(2) ?? '–'}
                  {part.interval !== null && <span class="part-range"> ±{half(part.interval)}</span>}
                </td>
                <td>{compact(part.tokens / part.attempts)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** The same on a narrow page: a line of parts with their pass rates. Nothing without a mix. */
export function PartsStrip({ view, parts }: PartsPanelProps) {
  const all = Object.entries(parts);
  if (all.length === 0) return null;
  return (
    <section class="part-strip" aria-label="Parts: pass rates">
      <h2>Parts</h2>
      {all.map(([name, part]) => (
        <span key={name} title={titleOf(name, part)}>
          <PartButton view={view} name={name} /> {rateOf(part)}
        </span>
      ))}
    </section>
  );
}

/** Filters by a part, or no longer. */
function PartButton({ view, name }: { readonly view: BatchView; readonly name: string }) {
  const filter = `part:${name}`;
  return (
    <button
      type="button"
      class="part-button"
      aria-pressed={splitParts(view.filter).includes(filter)}
      onClick={() => view.setFilter(togglePart(view.filter, filter))}
    >
      {name}
    </button>
  );
}

function rateOf({ scored, passed }: Part): string {
  return scored === 0 ? '–' : (passed / scored).toFixed(2);
}

function half([low, high]: readonly [number, number]): string {
  return ((high - low) / 2).toFixed(2).replace(/^0/, '');
}

function titleOf(name: string, { attempts, scored, passed, mean, interval, tokens }: Part): string {
  const range = interval === null ? '' : ` (${interval[0].toFixed(3)} to ${interval[1].toFixed(3)})`;
  return [
    `${name}: ${count(attempts)} attempts, ${count(passed)} of ${count(scored)} passed`,
    ...(mean === null ? [] : [`mean reward ${mean.toFixed(3)}${range}`]),
    `${count(tokens)} tokens`,
  ].join('\n');
}
