/** Renders comparisons of attempts or batches for a terminal. */

import { plural } from '../../common/text.ts';
import type { Action } from '../../trace/align/actions.ts';
import type { ComparedAttempt } from '../../trace/align/attempt.ts';
import type { ComparedBatches, ComparedTask, TaskChange, TaskSide } from '../../trace/align/batches.ts';
import type { AlignedRow, Alignment, Cell } from '../../trace/align/columns.ts';
import { callDifferences } from '../../trace/align/differences.ts';
import { actionText, differenceText, sourcesText } from '../../trace/align/label.ts';
import { type Branch, type BranchCounts, countsOf } from '../../trace/align/prefixTree.ts';
import { columns, harmlessLine, type Paint, painter, type Style } from '../../trace/text/terminal.ts';
import { comparisonText } from './reportText.ts';
import { table } from './table.ts';

interface CompareTextOptions {
  readonly width: number;
  readonly color: boolean;
}

const MAX_DIFFERENCES = 6;
const BAR = 10;
/** Maximum columns per action if a line has several. */
const MAX_ACTION_COLUMNS = 48;

const MARKS: Readonly<Record<Cell['state'], readonly [string, Style | undefined]>> = {
  same: ['=', 'dim'],
  arguments: ['≈', 'yellow'],
  text: ['~', 'dim'],
  tool: ['≠', 'red'],
  missing: ['-', 'dim'],
};
const OUTCOMES: Readonly<Record<ComparedAttempt['outcome'], readonly [string, Style]>> = {
  passed: ['●', 'green'],
  failed: ['✗', 'red'],
  truncated: ['◐', 'yellow'],
  infrastructure: ['⚠', 'yellow'],
  cancelled: ['○', 'dim'],
  unscored: ['?', 'yellow'],
  running: ['▷', 'blue'],
  held: ['‖', 'yellow'],
  queued: ['·', 'dim'],
};

/** Renders the tree of the attempts, then their aligned rows. `rawNames` has one name per attempt. */
export function attemptsText(
  title: string,
  attempts: readonly ComparedAttempt[],
  rawNames: readonly string[],
  tree: Branch,
  alignment: Alignment,
  options: CompareTextOptions,
): string {
  const paint = painter(options.color);
  const names = rawNames.map(harmlessLine);
  const counts = countsOf(attempts);
  const outcomes = [
    paint(`${counts.passed} passed`, 'green'),
    paint(`${counts.failed} failed`, 'red'),
    ...(counts.truncated > 0 ? [`${counts.truncated} truncated`] : []),
    ...(counts.other > 0 ? [`${counts.other} other`] : []),
  ].join(', ');
  const lines = [
    `${paint(harmlessLine(title), 'bold')} · ${plural(attempts.length, 'attempt')} · ${outcomes}`,
    '',
    ...treeLines(tree, attempts, names, paint, options.width),
    '',
    ...rowLines(attempts, names, alignment, paint, options.width),
  ];
  return lines.join('\n');
}

// ---- the tree

function treeLines(
  root: Branch,
  attempts: readonly ComparedAttempt[],
  names: readonly string[],
  paint: Paint,
  width: number,
): string[] {
  const lines: string[] = [];
  const write = (branch: Branch, head: string, rest: string): void => {
    const { counts } = branch;
    const tally = `${bar(counts, paint)} ${tallyText(counts)}`;
    const used = columns(head) + BAR + 1 + columns(tallyText(counts)) + 2;
    lines.push(
      `${paint(head, 'dim')}${tally}  ` +
        fitted(
          branch.actions.length === 0 ? '(from the start)' : chainText(branch.actions, width - used),
          width - used,
        ),
    );
    if (branch.ends.length > 0 && branch.ends.length + branch.branches.length > 0) {
      const ended = branch.ends.flatMap((index) => {
        const attempt = attempts[index];
        return attempt === undefined ? [] : [`${mark(attempt, paint)} ${names[index] ?? ''}`];
      });
      lines.push(
        `${paint(rest + (branch.branches.length > 0 ? '│ ' : '  '), 'dim')}${paint('end', 'dim')} ${ended.join('  ')}`,
      );
    }
    branch.branches.forEach((next, index) => {
      const last = index === branch.branches.length - 1;
      write(next, rest + (last ? '└ ' : '├ '), rest + (last ? '  ' : '│ '));
    });
  };
  write(root, '', '');
  return lines;
}

function bar({ rate }: BranchCounts, paint: Paint): string {
  if (rate === null) return paint('·'.repeat(BAR), 'dim');
  const full = Math.round(rate * BAR);
  return paint('█'.repeat(full), 'green') + paint('░'.repeat(BAR - full), 'dim');
}

/** Returns e.g. `2/3 (4)`: 2 of 3 scored attempts passed, of 4 in total. */
function tallyText(counts: BranchCounts): string {
  const scored = counts.rate === null ? 0 : counts.passed + counts.failed + counts.truncated;
  return `${counts.passed}/${scored}${scored === counts.attempts ? '' : ` (${counts.attempts})`}`;
}

function chainText(actions: readonly Action[], room: number): string {
  const parts: string[] = [];
  let used = 0;
  for (const [index, action] of actions.entries()) {
    const text = actions.length === 1 ? actionText(action) : fitted(actionText(action), MAX_ACTION_COLUMNS);
    used += columns(text) + 3;
    if (index > 0 && used > room - 10) return `${parts.join(' → ')} → ${actions.length - index} more`;
    parts.push(text);
  }
  return parts.join(' → ');
}

// ---- the rows

function rowLines(
  attempts: readonly ComparedAttempt[],
  names: readonly string[],
  alignment: Alignment,
  paint: Paint,
  width: number,
): string[] {
  const { reference, rows, firstSplit } = alignment;
  const cell = Math.max(2, ...names.map((name) => columns(name) + 2)) + 1;
  const heads = attempts.map((attempt, index) => {
    const name = names[index] ?? '';
    const text = `${mark(attempt, paint)} ${paint(name, index === reference ? 'bold' : undefined)}`;
    return padded(text, columns(name) + 2, cell);
  });
  const lines = [
    paint('= same  ≈ other arguments  ≠ other tool  ~ other text  - missing  * other result', 'dim'),
    `${heads.join('')} compared with ${names[reference] ?? ''}`,
  ];
  let same = 0;
  const flush = (): void => {
    if (same > 0) lines.push(paint(`${' '.repeat(cell * attempts.length)} … ${plural(same, 'identical row')}`, 'dim'));
    same = 0;
  };
  for (const [index, row] of rows.entries()) {
    // Print only rows that differ in more than text, and the row before each for context.
    if (!hasDifference(row) && !hasDifference(rows[index + 1])) {
      same += 1;
      continue;
    }
    flush();
    const base = row.cells[row.base]?.action;
    if (base === undefined) continue;
    const marks = row.cells.map((one) => padded(...markOf(one, paint), cell)).join('');
    const step = `step ${base.step} `;
    const room = width - cell * attempts.length - columns(step) - 2;
    const splitMark = index === firstSplit ? paint('  ← first split', 'yellow') : '';
    lines.push(`${marks} ${paint(step, 'dim')}${fitted(actionText(base), Math.max(20, room))}${splitMark}`);
    lines.push(...cellLines(row, names, paint, width));
  }
  flush();
  for (const [index, split] of alignment.splits.entries()) {
    const name = names[index] ?? '';
    if (index === reference) continue;
    if (split === undefined) {
      lines.push(`${name}: identical`);
      continue;
    }
    const { rejoin } = split;
    const rejoins =
      rejoin === undefined
        ? 'never rejoins'
        : `rejoins at its step ${rejoin.b.step}, which is step ${rejoin.a.step} of ${names[reference] ?? ''}`;
    const diverges =
      split.common === 0 ? 'diverges from the start' : `diverges after ${plural(split.common, 'identical action')}`;
    lines.push(`${name}: ${diverges}, ${rejoins}; ${Math.round(split.alike * 100)}% alike`);
  }
  return lines;
}

function hasDifference(row: AlignedRow | undefined): boolean {
  return (
    row !== undefined && row.cells.some((cell) => cell.otherResult || (cell.state !== 'same' && cell.state !== 'text'))
  );
}

function markOf(cell: Cell, paint: Paint): [string, number] {
  const [sign, style] = MARKS[cell.state];
  const result = cell.otherResult ? '*' : '';
  return [paint(sign, style) + paint(result, 'yellow'), 1 + result.length];
}

function cellLines(row: AlignedRow, names: readonly string[], paint: Paint, width: number): string[] {
  const base = row.cells[row.base]?.action;
  return row.cells.flatMap((cell, index): string[] => {
    if (cell.action === undefined || base === undefined) return [];
    const line = (text: string): string =>
      `    ${paint(names[index] ?? '', 'cyan')} ${paint(`step ${cell.action?.step ?? 0}`, 'dim')} ` +
      fitted(text, Math.max(20, width - 16 - columns(names[index] ?? '')));
    if (cell.state === 'tool') return [line(actionText(cell.action))];
    if (cell.state === 'text' || (cell.state === 'same' && !cell.otherResult)) return [];
    const { calls } = cell.action;
    const differences = callDifferences(base, cell.action).flatMap((call) => {
      const result = `${call.name} result${sourcesText(base.calls[call.call], calls[call.call])}`;
      return [
        ...call.arguments.map((one) => `${call.name} ${differenceText(one)}`),
        ...call.result.map((one) => `${result} ${differenceText(one)}`),
      ];
    });
    return [
      ...differences.slice(0, MAX_DIFFERENCES).map(line),
      ...(differences.length > MAX_DIFFERENCES
        ? [line(`… ${differences.length - MAX_DIFFERENCES} more differences`)]
        : []),
    ];
  });
}

// ---- two batches

const CHANGES: Readonly<Record<TaskChange, readonly [string, Style | undefined]>> = {
  lost: ['pass → fail', 'red'],
  gained: ['fail → pass', 'green'],
  worse: ['worse', 'red'],
  better: ['better', 'green'],
  same: ['same', 'dim'],
  unknown: ['not scored', 'yellow'],
};

/** Renders the paired difference, then the tasks that changed. */
export function batchesText({ comparison, tasks }: ComparedBatches, options: CompareTextOptions): string {
  const paint = painter(options.color);
  const changed = tasks.filter((task) => task.change !== 'same');
  const count = (change: TaskChange): number => tasks.filter((task) => task.change === change).length;
  const lines = [
    comparisonText({ ...comparison, changed: [] }),
    '',
    `${paint(plural(count('lost'), 'task no longer passes', 'tasks no longer pass'), 'red')}, ` +
      `${paint(plural(count('gained'), 'passes now', 'pass now'), 'green')}, ` +
      `${count('same')} of ${tasks.length} unchanged`,
  ];
  for (const [title, ids] of [
    ['only in the first batch', comparison.only_in_baseline],
    ['only in the second batch', comparison.only_here],
  ] as const) {
    if (ids.length > 0)
      lines.push(`${title}: ${plural(ids.length, 'task')} (${fitted(ids.join(', '), options.width - 36)})`);
  }
  if (changed.length > 0) {
    const [head = '', ...rows] = table([['task', 'before', 'after', 'change'], ...changed.map(taskCells)]).split('\n');
    lines.push(
      '',
      paint(head, 'dim'),
      ...rows.map((row, index) => paint(row, CHANGES[changed[index]?.change ?? 'same'][1])),
    );
  }
  return lines.join('\n');
}

function taskCells({ task, before, after, change }: ComparedTask): string[] {
  return [harmlessLine(task), sideText(before), sideText(after), CHANGES[change][0]];
}

function sideText({ passed, scored }: TaskSide): string {
  return scored === 0 ? '–' : `${passed}/${scored}`;
}

// ---- pieces

function mark(attempt: ComparedAttempt, paint: Paint): string {
  return paint(...OUTCOMES[attempt.outcome]);
}

function padded(text: string, used: number, width: number): string {
  return text + ' '.repeat(Math.max(0, width - used));
}

/** Cuts a text with … if it has more than `room` columns. */
function fitted(text: string, room: number): string {
  const line = harmlessLine(text);
  if (columns(line) <= room) return line;
  let [cut, used] = ['', 0];
  for (const character of line) {
    used += columns(character);
    if (used > room - 1) break;
    cut += character;
  }
  return `${cut}…`;
}
