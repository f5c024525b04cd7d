/** Accuracy by tool, or by another group, the worst first. */
import { count, percent } from '../../src/common/units.ts';
import type { PredictionAccuracy } from '../../src/trace/prediction/statistics.ts';

interface AccuracyTableProps {
  readonly title: string;
  readonly groups: readonly PredictionAccuracy[];
  /** The group to which the calls are filtered. */
  readonly selected: string | undefined;
  readonly onSelect: (name: string | undefined) => void;
}

export function AccuracyTable({ title, groups, selected, onSelect }: AccuracyTableProps) {
  return (
    <section class="fidelity-table" aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
      </header>
      <ul>
        {groups.map(({ name, calls, failed, accuracy, right }) => (
          <li key={name}>
            <button
              type="button"
              class="fidelity-group"
              aria-pressed={name === selected}
              title={
                `${name}: ${accuracy === null ? 'no accuracy' : `${percent(accuracy)} accurate`}, ` +
                `${count(right)} of ${count(calls)} right` +
                (failed === 0 ? '' : `, ${count(failed)} without a prediction`)
              }
              onClick={() => onSelect(name === selected ? undefined : name)}
            >
              <span class="fidelity-name">{name}</span>
              <Bar share={accuracy} />
              <b class="fidelity-number">{accuracy === null ? '–' : percent(accuracy)}</b>
              <span class="fidelity-count dim">
                {count(right)}/{count(calls)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Bar({ share }: { readonly share: number | null }) {
  return (
    <span class="fidelity-bar" aria-hidden="true">
      <i style={{ width: `${(share ?? 0) * 100}%` }} />
    </span>
  );
}
