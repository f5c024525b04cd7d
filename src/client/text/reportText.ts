/** Renders reports and comparisons as text. */

import { plural } from '../../common/text.ts';
import { compact, count, duration } from '../../common/units.ts';
import { RATE_NAMES, rateEntries, rateText } from '../../trace/control/rateText.ts';
import { allWasted } from '../../trace/groups/figures.ts';
import { wastedParts } from '../../trace/groups/text.ts';
import { accuracyText } from '../../trace/prediction/text.ts';
import { RECOVERIES, RECOVERY_NAMES } from '../../trace/recovery.ts';
import { PREDICTION_PARTS } from '../../trace/schema/prediction.ts';
import { bandParts, budgetLimit, budgetParts } from '../../trace/statistics/controlText.ts';
import type { Comparison, Report, TaskGroup } from '../../trace/statistics/schema.ts';
import { harmlessLine } from '../../trace/text/terminal.ts';
import { outcomeCounts } from '../../trace/worldOutcomes.ts';
import { curriculumText } from './curriculumText.ts';
import { table, wrapped } from './table.ts';
import { valueLines } from './valueText.ts';

const MAX_LISTED = 8;
/** Levels or scenarios; --json has all. */
const MAX_GROUPS = 20;
const RECOVERY_HEADS = RECOVERIES.filter((one) => one !== 'open').map((one) => RECOVERY_NAMES[one]);

export function reportText(report: Report, width: number): string {
  const lines = [attemptsLine(report), ''];
  const scenarios = Object.entries(report.by_scenario);
  if (report.pass_at === null || report.pass_all === null) {
    lines.push(`no pass@k: ${report.why['pass_at'] ?? 'unknown reason'}`);
  } else {
    lines.push(passTable(report));
    const levels = Object.entries(report.by_level);
    if (levels.length > 1) lines.push('', groupTable('level', levels));
    if (scenarios.length > 1) lines.push('', groupTable('scenario', scenarios));
  }
  const parts = Object.entries(report.by_part);
  if (parts.length > 0) lines.push('', partTable(parts));
  if (report.value !== null) lines.push(...valueLines(report.value));
  const [scenario, ...others] = scenarios.map(([name]) => harmlessLine(name));
  lines.push('', ...(scenario === undefined || others.length > 0 ? [] : [`scenario   ${scenario}`]));
  lines.push(...totalsLines(report, width));
  return lines.join('\n');
}

function attemptsLine(report: Report): string {
  const rest = [
    report.unscored > 0 ? `${report.unscored} unscored` : '',
    report.cancelled > 0 ? `${report.cancelled} cancelled` : '',
    report.infrastructure > 0 ? `${report.infrastructure} lost to infrastructure` : '',
    report.running > 0 ? `${report.running} running` : '',
    report.held > 0 ? `${report.held} held` : '',
    queuedOf(report) > 0 ? `${queuedOf(report)} queued` : '',
    report.truncated > 0 ? `${report.truncated} truncated` : '',
    report.duplicates > 0 ? plural(report.duplicates, 'duplicate') : '',
  ].filter((part) => part !== '');
  const tasks = plural(report.tasks, 'task');
  const outcomes = [`${report.passed} passed`, `${report.failed} failed`, ...rest].join(', ');
  const solved = `${report.solved} of ${tasks} solved at least once.`;
  return `${tasks}, ${plural(report.attempts, 'attempt')}: ${outcomes}. ${solved}`;
}

function queuedOf({ open, running, held }: Report): number {
  return open - running - held;
}

function passTable(report: Report): string {
  const percent = Math.round(report.intervals.level * 100);
  const rows = Object.keys(report.tasks_at).map((k) => [
    k,
    rate(report.pass_at?.[k]),
    range(report.intervals.pass_at?.[k]),
    rate(report.pass_all?.[k]),
    range(report.intervals.pass_all?.[k]),
    String(report.tasks_at[k] ?? 0),
  ]);
  return table([['k', 'pass@k', `${percent}%`, 'pass^k', `${percent}%`, 'tasks'], ...rows], [0, 1, 2, 3, 4, 5]);
}

/** Returns the first groups of tasks in a table. `by`: what they have in common. */
function groupTable(by: string, groups: readonly (readonly [string, TaskGroup])[]): string {
  const more = groups.length - MAX_GROUPS;
  return table(
    [
      [by, 'tasks', 'solved', 'passed', 'pass@1'],
      ...groups
        .slice(0, MAX_GROUPS)
        .map(([name, one]) => [
          harmlessLine(name),
          String(one.tasks),
          String(one.solved),
          `${one.passed}/${one.scored}`,
          rate(one.pass_at?.['1']),
        ]),
      ...(more > 0 ? [[`… and ${more} more`, '', '', '', '']] : []),
    ],
    [1, 2, 3, 4],
  );
}

/** Returns the parts of the mix. `tokens`: per attempt. */
function partTable(parts: readonly (readonly [string, Report['by_part'][string]])[]): string {
  return table(
    [
      ['part', 'attempts', 'passed', 'rate', 'reward', 'interval', 'tokens'],
      ...parts.map(([name, { attempts, scored, passed, mean, interval, tokens }]) => [
        name,
        String(attempts),
        `${passed}/${scored}`,
        rate(scored === 0 ? null : passed / scored),
        rate(mean),
        interval === null ? '' : `${rate(interval[0])} to ${rate(interval[1])}`,
        compact(tokens / attempts),
      ]),
    ],
    [1, 2, 3, 4, 5, 6],
  );
}

function totalsLines(report: Report, width: number): string[] {
  const { tokens, ms, cost } = report;
  const lines: string[] = [];
  if (tokens !== null)
    lines.push(
      `tokens     ${compact(tokens.input)} in${tokens.cached > 0 ? ` (${compact(tokens.cached)} cached)` : ''}, ` +
        `${compact(tokens.output)} out`,
    );
  if (report.side !== null) {
    const { calls, input_tokens: input, output_tokens: output, cost: price } = report.side;
    const cached = report.side.cached_tokens > 0 ? ` (${compact(report.side.cached_tokens)} cached)` : '';
    lines.push(
      `side       ${plural(calls, 'call')} of side models, ${compact(input)} in${cached}, ${compact(output)} out` +
        (price === undefined ? '' : `, cost ${price.toFixed(2)}`),
    );
  }
  if (ms !== null)
    lines.push(
      `time       p50 ${duration(ms.p50)}, p95 ${duration(ms.p95)}, max ${duration(ms.max)}, total ` +
        duration(ms.total),
    );
  if (report.per_hour !== null) lines.push(`rate       ${count(report.per_hour)} rollouts/h`);
  if (cost !== null) {
    const { cost_per_solved: perSolved } = report;
    lines.push(`cost       ${cost.toFixed(2)}${perSolved === null ? '' : `, ${perSolved.toFixed(2)} per solved task`}`);
  }
  if (report.curriculum !== null) {
    const { saved } = report.curriculum;
    const text = curriculumText(report.curriculum);
    lines.push(`curriculum ${text}${saved === null || saved === 0 ? '' : `: ${plural(saved, 'attempt')} saved`}`);
    const band = bandParts(report.curriculum);
    if (band.length > 0) lines.push(`           its band: ${band.join(', ')}`);
  }
  const { budget } = report;
  if (budget !== null)
    lines.push(
      `budget     ${budget.spent} of ${plural(budget.of, 'task')} used ${budgetLimit(budget)} or more: ` +
        budgetParts(budget).join(', '),
    );
  const { stopped, adaptive } = report;
  if (adaptive !== null)
    lines.push(
      `attempts   ${adaptive.least} to ${adaptive.most} per task until ${adaptive.until}: ${count(adaptive.saved)} ` +
        `saved, ${plural(adaptive.informative, 'task')} with both outcomes; pass@k is of the first ${adaptive.least}`,
    );
  if (stopped.attempts > 0)
    lines.push(
      `stopped    ${plural(stopped.attempts, 'attempt')} by stop.rollout, after ${compact(stopped.tokens)} tokens`,
    );
  lines.push(...groupLines(report, width));
  lines.push(
    ...report.incidents.map(({ text }, nth) => `${(nth === 0 ? 'incidents' : '').padEnd(10)} ${harmlessLine(text)}`),
  );
  const outcomes = outcomeCounts(report.by_outcome).map(({ name, attempts }) => `${name} ${attempts}`);
  lines.push(...listLine('outcomes', outcomes, width));
  const causes = Object.entries(report.by_cause).map(([cause, { attempts }]) => `${cause} ${attempts}`);
  lines.push(...listLine('causes', causes, width));
  const tools = Object.entries(report.by_tool).map(([tool, share]) => `${tool} ${share.passed}/${share.attempts}`);
  lines.push(...listLine('tools', tools, width, 'passed/attempts: '));
  if (report.calls !== null) {
    const { made, succeeded, valid } = report.calls;
    lines.push(
      `calls      ${shareText(succeeded, made)} succeeded (${count(succeeded)} of ${count(made)}), ` +
        `${shareText(valid, made)} with valid arguments`,
    );
  }
  if (report.perturbed === false) lines.push('faults     none: run without the rules of its world');
  const rates = rateEntries(report.rates).map(({ rate, count: cases }) => `${RATE_NAMES[rate]} ${rateText(cases)}`);
  lines.push(...listLine('world', rates, width));
  const predicted = Object.entries(report.predictions);
  if (predicted.length > 0) lines.push('', predictionTable(predicted, report.prediction_accuracy));
  const rules = Object.entries(report.by_rule);
  if (rules.length > 0) lines.push('', ruleTable(rules));
  return lines;
}

/** What a trainer can learn from the groups; nothing for a batch without rewards or with single attempts. */
function groupLines(
  { groups, wasted, filtered, replayed, tokens, lost, drift, versions, scored, attempts, tasks }: Report,
  width: number,
): string[] {
  const lines: string[] = [];
  if (scored > 0 && attempts > tasks) {
    const open = groups.open === 0 ? '' : `, ${groups.open} open`;
    lines.push(`groups     ${groups.some} with signal, ${groups.none + groups.excluded} without${open}`);
    const total = tokens === null ? 0 : tokens.input + tokens.output;
    if (total > 0)
      lines.push(
        ...listLine('wasted', wastedParts(wasted), width, `${shareText(allWasted(wasted), total)} of the tokens: `),
      );
  }
  if (filtered.groups > 0)
    lines.push(
      `filtered   ${plural(filtered.groups, 'group')} left out at the delivery, with ` +
        `${compact(filtered.tokens)} tokens`,
    );
  if (replayed.groups > 0)
    lines.push(
      `replayed   ${plural(replayed.rollouts, 'success', 'successes')} of earlier groups, with ` +
        plural(replayed.groups, 'group'),
    );
  if (lost.rollouts > 0)
    lines.push(
      `lost       ${count(lost.rollouts)} of ${plural(lost.of, 'rollout')} to infrastructure ` +
        `(${shareText(lost.rollouts, lost.of)})`,
    );
  if (drift.attempts > 0)
    lines.push(
      `drift      ${plural(drift.calls, 'call')} in ${count(drift.attempts)} of ${plural(drift.of, 'attempt')} ` +
        `(${shareText(drift.attempts, drift.of)})`,
    );
  const weights = versions.map(([version, own]) => `${version} (${plural(own, 'attempt')})`);
  lines.push(...listLine('weights', weights, width, 'newest version '));
  return lines;
}

function ruleTable(rules: readonly (readonly [string, Report['by_rule'][string]])[]): string {
  const isOpen = rules.some(([, { open }]) => open > 0);
  return table(
    [
      ['faults by rule', 'injected', ...RECOVERY_HEADS, ...(isOpen ? ['open'] : []), 'passed'],
      ...rules.map(([rule, one]) => [
        harmlessLine(rule),
        ...[one.injected, one.recovered, one.worked_around, one.repeated, one.gave_up].map(String),
        ...(isOpen ? [String(one.open)] : []),
        `${one.passed}/${one.attempts}`,
      ]),
    ],
    [1, 2, 3, 4, 5, 6, 7],
  );
}

/** Returns how well a world predicted the calls of each tool, the worst first. */
function predictionTable(
  tools: readonly (readonly [string, Report['predictions'][string]])[],
  overall: number | null,
): string {
  const parts = PREDICTION_PARTS.filter((part) => tools.some(([, of]) => of.parts[part] !== undefined));
  const sum = (count: 'calls' | 'failed' | 'right'): number => tools.reduce((all, [, of]) => all + of[count], 0);
  const more = tools.length - MAX_GROUPS;
  return table(
    [
      ['predicted', 'calls', 'failed', 'right', ...parts, 'accuracy'],
      ...tools
        .slice(0, MAX_GROUPS)
        .map(([tool, of]) => [
          harmlessLine(tool),
          ...[of.calls, of.failed, of.right].map(String),
          ...parts.map((part) => accuracyText(of.parts[part] ?? null)),
          accuracyText(of.accuracy),
        ]),
      ...(more > 0 ? [[`… and ${more} more`]] : []),
      [
        'all tools',
        ...[sum('calls'), sum('failed'), sum('right')].map(String),
        ...parts.map(() => ''),
        accuracyText(overall),
      ],
    ],
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
}

/** Returns a list with its title, wrapped below its first entry; nothing if it is empty. */
function listLine(title: string, entries: readonly string[], width: number, intro = ''): string[] {
  const [first, ...rest] = entries.slice(0, MAX_LISTED);
  if (first === undefined) return [];
  const more = entries.length > MAX_LISTED ? [`${entries.length - MAX_LISTED} more`] : [];
  return [wrapped([`${title.padEnd(10)} ${intro}${first}`, ...rest, ...more], ', ', width, ' '.repeat(11))];
}

export function comparisonText(comparison: Comparison): string {
  const lines = [
    `compared with ${comparison.baseline}: ${plural(comparison.tasks, 'task')} in common, ` +
      `${comparison.better} better, ${comparison.worse} worse, ${comparison.same} the same`,
  ];
  const heads = ['baseline', 'here', 'difference', `${Math.round(comparison.intervals.level * 100)}%`];
  const calls =
    comparison.calls === null
      ? []
      : [
          '',
          table(
            [
              ['calls', ...heads],
              ['tool success', ...differenceCells(comparison.calls.tool_success)],
              ['parameter accuracy', ...differenceCells(comparison.calls.parameter_accuracy)],
            ],
            [1, 2, 3, 4],
          ),
        ];
  if (comparison.pass_at === null)
    return [...lines, `no difference: ${comparison.why['pass_at'] ?? 'unknown reason'}`, ...calls].join('\n');
  const rows = Object.entries(comparison.pass_at).map(([k, one]) => [k, ...differenceCells(one)]);
  lines.push(...pairLines(comparison), '');
  lines.push(table([['k', ...heads], ...rows], [0, 1, 2, 3, 4]), ...calls);
  if (calls.length > 0 && comparison.changed.length > 0) lines.push('');
  for (const { task, difference } of comparison.changed.slice(0, MAX_LISTED))
    lines.push(`  ${signed(difference)}  ${task}`);
  return lines.join('\n');
}

type Difference = NonNullable<Comparison['calls']>['tool_success'];

function differenceCells({ baseline, here, difference, interval }: Difference): string[] {
  return [
    rate(baseline),
    rate(here),
    signed(difference),
    interval === null ? '' : `${signed(interval[0])} … ${signed(interval[1])}`,
  ];
}

/** Says which batch was perturbed, and how the pairs of attempts ended. */
function pairLines({ perturbed, pairs, by_rule: byRule, batch, baseline }: Comparison): string[] {
  if (perturbed.here === null && perturbed.baseline === null) return [];
  const names = [...(perturbed.here === true ? [batch] : []), ...(perturbed.baseline === true ? [baseline] : [])];
  const which = names.length === 0 ? 'neither batch was perturbed' : `perturbed: ${names.join(', ')}`;
  const rules = Object.entries(byRule);
  return [
    `${which}; ${plural(pairs.attempts, 'pair of attempts', 'pairs of attempts')}: ${pairs.both} passed in both, ` +
      `${pairs.only_here} only here, ${pairs.only_in_baseline} only in the baseline, ${pairs.neither} in neither`,
    ...(rules.length === 0
      ? []
      : [
          '',
          table(
            [
              ['pairs hit by rule', 'attempts', 'passed', 'passed without'],
              ...rules.map(([rule, one]) => [
                harmlessLine(rule),
                String(one.attempts),
                String(one.passed),
                String(one.passed_without),
              ]),
            ],
            [1, 2, 3],
          ),
        ]),
  ];
}

function shareText(part: number, whole: number): string {
  return part === whole ? '100%' : `${((Math.floor((1000 * part) / whole) * 100) / 1000).toFixed(1)}%`;
}

export function rate(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(3);
}

export function range(interval: readonly [number, number] | null | undefined): string {
  return interval === null || interval === undefined ? '' : `${interval[0].toFixed(3)} … ${interval[1].toFixed(3)}`;
}

export function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
}
