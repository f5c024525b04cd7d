/** What attempts are worth, by level, if that is more than passed or not; with AgentWorldBench's published scores. */
import { count } from '../../../src/common/units.ts';
import {
  BENCH_CAUTION,
  BENCH_DOMAINS,
  BENCH_SOURCE,
  type BenchDomain,
  PUBLISHED_SCORES,
} from '../../../src/trace/statistics/agentWorldBench.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Panel } from './panel.tsx';
import './faults.css';

type Values = NonNullable<Report['value']>;

export function ValuesPanel({ value }: { readonly value: Values }) {
  const { judge, mean, macro, missing } = value;
  const levels = Object.entries(value.by_level);
  const without = missing === 0 ? '' : ` · ${count(missing)} without`;
  const note = levels.length > 1 ? `macro ${percent(macro)} · micro ${percent(mean)}` : `mean ${percent(mean)}`;
  return (
    <Panel name="faults" title={judge === null ? 'Values' : 'AgentWorldBench'} note={`${note}${without}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <ul class="fault-rows" tabIndex={0}>
        {judge !== null && (
          <li class="fault-judge" title={BENCH_CAUTION}>
            judge {judge}
          </li>
        )}
        {levels.map(([name, of]) => (
          <Row key={name} name={nameOf(name, judge)} mean={of.mean} about={aboutOf(of)} />
        ))}
        {judge !== null &&
          PUBLISHED_SCORES.map(({ model, scores, macro: published }) => (
            <Row
              key={model}
              name={`${model}, published`}
              mean={published / 100}
              about={`${Object.entries(BENCH_DOMAINS)
                .map(([domain, title]) => `${title} ${scores[domain as BenchDomain].toFixed(2)}`)
                .join(', ')}. Source: ${BENCH_SOURCE}. ${BENCH_CAUTION}`}
              published
            />
          ))}
      </ul>
    </Panel>
  );
}

interface RowProps {
  readonly name: string;
  readonly mean: number | null;
  readonly about: string;
  readonly published?: boolean;
}

function Row({ name, mean, about, published = false }: RowProps) {
  return (
    <li class="fault-row" title={`${name}: ${percent(mean)}\n${about}`}>
      <span class="fault-name">{name} </span>
      <span class="fault-bar">
        <i class={published ? 'of-cached' : 'of-passed'} style={{ width: `${100 * (mean ?? 0)}%` }} />
      </span>
      <span class="fault-count">
        {percent(mean)}
        <span class="only-read"> {about}</span>
      </span>
    </li>
  );
}

function nameOf(level: string, judge: string | null): string {
  const domains: Readonly<Record<string, string>> = BENCH_DOMAINS;
  return judge === null ? level : (domains[level] ?? level);
}

function aboutOf({ scored, missing }: Values['by_level'][string]): string {
  return `${count(scored)} scored${missing === 0 ? '' : `, ${count(missing)} without a value`}`;
}

function percent(value: number | null): string {
  return value === null ? '–' : (100 * value).toFixed(1);
}
