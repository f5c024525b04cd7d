/** What agents did after the faults that rules injected: a bar for each rule. */
import { count } from '../../../src/common/units.ts';
import { RECOVERIES, RECOVERY_NAMES, type Recovery } from '../../../src/trace/recovery.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Panel } from './panel.tsx';
import './faults.css';

/** Colors of the bars' parts. */
const KINDS: Readonly<Record<Recovery, string>> = {
  recovered: 'passed',
  worked_around: 'cached',
  repeated: 'truncated',
  gave_up: 'failed',
  open: 'queued',
};

export function FaultsPanel({ rules }: { readonly rules: Report['by_rule'] }) {
  const all = Object.entries(rules);
  const injected = all.reduce((sum, [, rule]) => sum + rule.injected, 0);
  const most = Math.max(1, ...all.map(([, rule]) => rule.injected));
  return (
    <Panel name="faults" title="Injected faults" note={count(injected)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <ul class="fault-rows" tabIndex={0}>
        {all.map(([name, rule]) => (
          <Rule key={name} name={name} rule={rule} most={most} />
        ))}
      </ul>
    </Panel>
  );
}

interface RuleProps {
  readonly name: string;
  readonly rule: Report['by_rule'][string];
  readonly most: number;
}

function Rule({ name, rule, most }: RuleProps) {
  const parts = RECOVERIES.filter((kind) => rule[kind] > 0);
  const words = parts.map((kind) => `${count(rule[kind])} ${RECOVERY_NAMES[kind]}`).join(', ');
  const passed = `${count(rule.passed)} of ${count(rule.attempts)} scored attempts that it hit passed`;
  return (
    <li class="fault-row" title={`${name}: ${count(rule.injected)} injected\n${words}\n${passed}`}>
      <span class="fault-name">{name} </span>
      <span class="fault-bar">
        {parts.map((kind) => (
          <i key={kind} class={`of-${KINDS[kind]} parted`} style={{ width: `${(100 * rule[kind]) / most}%` }} />
        ))}
      </span>
      <span class="fault-count">
        {count(rule.injected)}
        <span class="only-read">
          {' '}
          injected: {words}; {passed}
        </span>
      </span>
    </li>
  );
}
