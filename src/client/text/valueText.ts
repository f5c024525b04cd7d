/** Renders the values of a report: means by level, and for AgentWorldBench the published scores below them. */
import { plural } from '../../common/text.ts';
import {
  BENCH_CAUTION,
  BENCH_DOMAINS,
  BENCH_NAMES,
  BENCH_SOURCE,
  PUBLISHED_SCORES,
} from '../../trace/statistics/agentWorldBench.ts';
import type { Report } from '../../trace/statistics/schema.ts';
import { harmlessLine } from '../../trace/text/terminal.ts';
import { table } from './table.ts';

type Values = NonNullable<Report['value']>;

/** Levels; --json has all. */
const MAX_LEVELS = 20;

export function valueLines(value: Values): string[] {
  const { judge, missing } = value;
  const without = missing === 0 ? [] : [`${plural(missing, 'attempt')} without a value: not in the means`];
  const marks = Object.keys(value.marks).length === 0 ? [] : ['', marksTable(value)];
  if (judge === null) return ['', meansTable(value), ...without, ...marks];
  return [
    '',
    `AgentWorldBench, from 0 to 100, judged by ${harmlessLine(judge)}`,
    benchTable(value),
    ...without,
    `micro ${percent(value.mean)}: the mean of all rows. macro: the mean of the domains, as published`,
    `published: ${BENCH_SOURCE}`,
    BENCH_CAUTION,
    ...marks,
  ];
}

function meansTable({ by_level: byLevel, mean, macro, scored, missing }: Values): string {
  const levels = Object.entries(byLevel);
  const row = (name: string, of: { mean: number | null; scored: number; missing: number }): string[] => [
    name,
    String(of.scored),
    String(of.missing),
    of.mean?.toFixed(3) ?? '–',
  ];
  return table(
    [
      ['value', 'scored', 'without', 'mean'],
      ...(levels.length > 1 ? levels.slice(0, MAX_LEVELS).map(([name, of]) => row(harmlessLine(name), of)) : []),
      ...(levels.length > MAX_LEVELS ? [[`… and ${levels.length - MAX_LEVELS} more`, '', '', '']] : []),
      row('all', { mean, scored, missing }),
      ...(levels.length > 1 ? [['mean of levels', '', '', macro?.toFixed(3) ?? '–']] : []),
    ],
    [1, 2, 3],
  );
}

/** Returns the means of the marks, a row for each level. */
function marksTable({ marks, by_level: byLevel, judge }: Values): string {
  const names = Object.keys(marks);
  const levels = Object.keys(byLevel);
  const shown = levels.length > 1 ? levels.slice(0, MAX_LEVELS) : [];
  const titles: Readonly<Record<string, string>> = judge === null ? {} : BENCH_DOMAINS;
  const mark = (mean: number | undefined): string => mean?.toFixed(2) ?? '–';
  return table(
    [
      ['marks', ...names.map(harmlessLine)],
      ...shown.map((level) => [
        titles[level] ?? harmlessLine(level),
        ...names.map((name) => mark(marks[name]?.by_level[level])),
      ]),
      ...(levels.length > MAX_LEVELS ? [[`… and ${levels.length - MAX_LEVELS} more`, ...names.map(() => '')]] : []),
      ['all', ...names.map((name) => mark(marks[name]?.mean))],
    ],
    names.map((_name, index) => index + 1),
  );
}

function benchTable({ by_level: byLevel, macro }: Values): string {
  const counts = BENCH_NAMES.map((domain) => {
    const { scored = 0, missing = 0 } = byLevel[domain] ?? {};
    return missing === 0 ? String(scored) : `${scored}/${scored + missing}`;
  });
  return table(
    [
      ['', ...Object.values(BENCH_DOMAINS), 'macro'],
      ['this batch', ...BENCH_NAMES.map((domain) => percent(byLevel[domain]?.mean)), percent(macro)],
      ['  scored rows', ...counts, ''],
      ...PUBLISHED_SCORES.map(({ model, scores, macro: mean }) => [
        model,
        ...BENCH_NAMES.map((domain) => scores[domain].toFixed(2)),
        mean.toFixed(2),
      ]),
    ],
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
}

function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : (100 * value).toFixed(2);
}
