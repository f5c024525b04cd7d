/** What the attempts on a published world came to: failures of agents, of forms, and of the world are kept apart. */
import { count } from '../../../src/common/units.ts';
import type { WorldOutcome } from '../../../src/trace/schema.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { outcomeCounts } from '../../../src/trace/worldOutcomes.ts';
import { Panel } from './panel.tsx';
import './faults.css';

/** Colors of the bars. */
const KINDS: Readonly<Record<WorldOutcome, string>> = {
  complete: 'passed',
  partial: 'truncated',
  agent_error: 'failed',
  format: 'failed',
  environment_error: 'unscored',
};

export function OutcomesPanel({ outcomes }: { readonly outcomes: Report['by_outcome'] }) {
  const all = outcomeCounts(outcomes);
  const most = Math.max(1, ...all.map(({ attempts }) => attempts));
  return (
    <Panel name="faults" title="Outcomes" note={count(all.reduce((sum, { attempts }) => sum + attempts, 0))}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <ul class="fault-rows" tabIndex={0}>
        {all.map(({ outcome, name, attempts }) => (
          <li key={outcome} class="fault-row" title={`${name}: ${count(attempts)}`}>
            <span class="fault-name">{name} </span>
            <span class="fault-bar">
              <i class={`of-${KINDS[outcome]}`} style={{ width: `${(100 * attempts) / most}%` }} />
            </span>
            <span class="fault-count">{count(attempts)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
