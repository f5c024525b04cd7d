/**
 * The filter of the batch page. Its text consists of words (`renew "due date"`), fields (`error:timeout`,
 * `tool:renew_loan`, `steps > 30`), or is one CEL expression. All words and fields must match. A field without a value
 * and an unfinished expression are problems, not words.
 */
import { causeOf } from '../../../src/trace/cause.ts';
import { outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { scenarioOfTask, type TaskRecord } from '../../../src/trace/task.ts';
import { isDisputed } from '../../data/judged.ts';
import { quoted, unquoted } from './quoted.ts';

export type RowTest = (row: RolloutRow, task: TaskRecord | undefined) => boolean;

/** One part of a filter: its text, and its test. */
export interface FilterPart {
  readonly text: string;
  readonly test: RowTest;
}

type ParsedFilter =
  | { readonly kind: 'parts'; readonly parts: readonly FilterPart[] }
  | { readonly kind: 'cel'; readonly text: string }
  | { readonly kind: 'problem'; readonly text: string };

type TextField = (row: RolloutRow, task: TaskRecord | undefined) => readonly (string | undefined)[];
type NumberField = (row: RolloutRow) => number | undefined;

const TEXT_FIELDS: Readonly<Record<string, TextField>> = {
  task: (row) => [row.task],
  outcome: (row) => [outcomeOf(row)],
  cause: (row) => [causeOf(row)?.text],
  error: ({ progress }) => [progress.error_class, progress.error_message],
  tool: ({ progress }) => progress.tools,
  worker: (row) => [row.worker],
  verdicts: (row) => [isDisputed(row) ? 'disagree' : undefined],
  rollout: (row) => [row.rollout],
  level: (_row, task) => [task?.level === undefined ? undefined : String(task.level)],
  part: ({ progress }) => [progress.part],
  scenario: (_row, task) => [scenarioOfTask(task)],
  question: (_row, task) => [task?.question],
};

const NUMBER_FIELDS: Readonly<Record<string, NumberField>> = {
  attempt: (row) => row.attempt,
  try: (row) => row.try,
  steps: ({ progress }) => progress.steps,
  calls: ({ progress }) => progress.tool_calls,
  tokens: ({ progress }) => progress.input_tokens + progress.output_tokens,
  seconds: ({ progress }) => (progress.ms === undefined ? undefined : progress.ms / 1000),
  reward: ({ progress }) => progress.reward ?? undefined,
  cost: ({ progress }) => progress.cost,
};

/** Names of the fields, for the hint next to the filter. */
export const FILTER_FIELDS: readonly string[] = [...Object.keys(TEXT_FIELDS), ...Object.keys(NUMBER_FIELDS)];

/** Fields with a fixed list of values, which must be typed in full. */
const WHOLE = new Set(['outcome', 'level', 'part', 'rollout', 'verdicts']);
const PART = /^([a-z]+)\s*(:|>=|<=|>|<)\s*(.*)$/s;
const CEL_ROOTS = 'step|attempt|reward|status|agent|task|tool|message|usage|world|event|verdicts';
const CEL = new RegExp(String.raw`==|!=|&&|\|\||^[!(\s]*(?:${CEL_ROOTS})\s*(?:[.[<>=]|\s(?:in|<|>))|^has\(`);
/** An operator that stands alone, or that follows a path: nobody searches for these as words. */
const LIKE_CEL = /^(?:[<>]=?|=|[A-Za-z_]\w*(?:\.\w+)+[<>=].*)$/s;
/** Fields that no expression has, so that spaces around their operator are clear. */
const SPACED = Object.keys(NUMBER_FIELDS)
  .filter((field) => !CEL_ROOTS.split('|').includes(field))
  .join('|');
const PARTS = new RegExp(String.raw`(?:\b(?:${SPACED})\s+[<>]=?\s*)?(?:[^\s"]|"[^"]*"?)+`, 'g');

export function parseFilter(text: string): ParsedFilter {
  const texts = splitParts(text);
  const parts = texts.map(partOf);
  const own = parts.every((part) => 'problem' in part || part.field !== undefined);
  if (!own && (CEL.test(text) || texts.some((part) => LIKE_CEL.test(part)))) return { kind: 'cel', text: text.trim() };
  const complete: FilterPart[] = [];
  for (const part of parts) {
    if ('problem' in part) return { kind: 'problem', text: part.problem };
    complete.push(part);
  }
  return { kind: 'parts', parts: complete };
}

/** Splits `error:"no such" due` into `error:"no such"` and `due`. An unclosed quote extends to the end. */
export function splitParts(text: string): string[] {
  return [...text.matchAll(PARTS)].map(([part]) => part);
}

/** Returns the text without one of its parts. */
export function withoutPart(text: string, index: number): string {
  return splitParts(text)
    .filter((_, i) => i !== index)
    .join(' ');
}

/** Adds a field to the text, replacing the same field with another value. Removes it if it is already there. */
export function togglePart(text: string, part: string): string {
  const parts = splitParts(text);
  if (parts.includes(part)) return parts.filter((other) => other !== part).join(' ');
  const field = part.slice(0, part.indexOf(':') + 1);
  return [...parts.filter((other) => !other.startsWith(field)), part].join(' ');
}

type Part = FilterPart & { readonly field: string | undefined };

function partOf(text: string): Part | { readonly problem: string } {
  const [, field = '', operator = '', rawValue = ''] = PART.exec(text) ?? [];
  const value = rawValue.replaceAll('"', '').toLowerCase();
  const wholes = field === 'cause' ? quoted(rawValue) : undefined;
  if (wholes !== undefined) return { text, field, test: (row) => wholes.includes(unquoted(causeOf(row)?.text ?? '')) };
  const read = Object.hasOwn(TEXT_FIELDS, field) ? TEXT_FIELDS[field] : undefined;
  if (read !== undefined && operator === ':' && value !== '') {
    const whole = WHOLE.has(field);
    return {
      text,
      field,
      test: (row, task) =>
        read(row, task).some(
          (is) => is !== undefined && (whole ? is.toLowerCase() === value : is.toLowerCase().includes(value)),
        ),
    };
  }
  const number = Object.hasOwn(NUMBER_FIELDS, field) ? NUMBER_FIELDS[field] : undefined;
  const limit = numberOf(value);
  if (read !== undefined && operator === ':') return { problem: `${field}: needs a value` };
  if (number !== undefined && limit === undefined) return { problem: `${field} needs a number, such as ${field}>3` };
  if (number !== undefined && limit !== undefined) {
    return {
      text,
      field,
      test: (row) => {
        const is = number(row);
        return is !== undefined && compare(is, operator, limit);
      },
    };
  }
  const word = text.replaceAll('"', '').toLowerCase();
  return { text, field: undefined, test: (row, task) => anywhere(row, task, word) };
}

function compare(is: number, operator: string, limit: number): boolean {
  switch (operator) {
    case '>':
      return is > limit;
    case '<':
      return is < limit;
    case '>=':
      return is >= limit;
    case '<=':
      return is <= limit;
    default:
      return is === limit;
  }
}

/** Parses `30`, `1.5k`, `2m`. */
function numberOf(text: string): number | undefined {
  const match = /^(-?\d+(?:\.\d+)?)([km]?)$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (match[2] === 'k' ? 1000 : match[2] === 'm' ? 1_000_000 : 1);
}

function anywhere({ task: id, progress }: RolloutRow, task: TaskRecord | undefined, word: string): boolean {
  const has = (text: string | undefined): boolean => text?.toLowerCase().includes(word) === true;
  return (
    has(id) ||
    has(progress.error_class) ||
    has(progress.error_message) ||
    progress.tools.some(has) ||
    has(task?.question)
  );
}
