/** What the user chose to export, as arguments of the command line, as entries of a menu, and as a preview. */
import { z } from 'zod';
import { plural } from '../../../common/text.ts';
import { bytes, count } from '../../../common/units.ts';
import type { NullRule, TrainingFormat } from '../../../formats/training/format.ts';
import { TRAINING_FORMATS, trainingFormat } from '../../../formats/training/registry.ts';
import type { Selection } from '../../../trace/selection/selection.ts';

export interface ExportChoices {
  /** `csv`, or the ID of a format for trainers. */
  readonly format: string;
  readonly selection: Selection;
  readonly nullReward?: NullRule;
  readonly hidePaths?: boolean;
}

export interface FormatChoice {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
}

export function formatChoices(): readonly FormatChoice[] {
  return [
    {
      id: 'csv',
      label: 'Table of Attempts, CSV',
      detail: 'a line for each attempt: outcome, question, answers, tokens, and times',
    },
    ...TRAINING_FORMATS.map(({ id, title, text }) => ({ id, label: title, detail: text })),
  ];
}

/** Returns the ending of files in a format, without a dot. */
export function endingOf(format: string): string {
  return format === 'csv' ? 'csv' : (trainingFormat(format)?.file ?? 'jsonl');
}

/** Returns the arguments of `rollout`, without where to write. */
export function exportArguments(
  batch: string,
  { format, selection: by, nullReward, hidePaths }: ExportChoices,
): string[] {
  const option = (name: string, value: number | string | undefined): string[] =>
    // With `=`, because a value can begin with a dash.
    value === undefined ? [] : [`--${name}=${value}`];
  return [
    ...['export', batch, '--to', format],
    ...(by.outcomes ?? []).flatMap((outcome) => option('outcome', outcome)),
    ...option('min-reward', by.reward?.min),
    ...option('max-reward', by.reward?.max),
    ...option('rate-above', by.rate?.above),
    ...option('rate-below', by.rate?.below),
    ...option('where', by.where),
    ...option('max-per-task', by.per_task),
    ...(by.distinct === true ? ['--distinct'] : []),
    ...option('split', by.split?.part),
    ...option('test-size', by.split?.share),
    ...option('seed', by.split?.seed),
    ...option('null-reward', nullReward),
    ...(hidePaths === true ? option('redact', 'paths') : []),
  ];
}

/** The parts of an export that the menu changes. */
export const CHANGES = [
  'outcomes',
  'reward',
  'rate',
  'where',
  'per_task',
  'distinct',
  'split',
  'null_reward',
  'paths',
] as const;
export type Change = (typeof CHANGES)[number];

/** Returns the entries of the menu, with their current values. */
export function changeEntries(choices: ExportChoices): { label: string; description: string; value: Change }[] {
  const { selection: by, nullReward, hidePaths } = choices;
  const format = trainingFormat(choices.format);
  const all = format === undefined ? 'all' : 'all that ended';
  const values: Readonly<Record<Change, readonly [string, string]>> = {
    outcomes: ['Outcomes', (by.outcomes ?? format?.selects?.outcomes)?.join(', ') ?? all],
    reward: ['Rewards', rangeText(by.reward?.min, by.reward?.max, 'at least', 'at most')],
    rate: ['Pass Rate of the Task', rangeText(by.rate?.above, by.rate?.below, 'above', 'below')],
    where: ['Condition', by.where ?? 'none'],
    per_task: ['Attempts per Task', by.per_task === undefined ? 'all' : `at most ${by.per_task}`],
    distinct: ['Equal Trajectories of a Task', by.distinct === true ? 'only the first' : 'all'],
    split: [
      'Split of the Tasks',
      by.split === undefined ? 'none' : `${by.split.part}, ${by.split.share} in test, seed ${by.split.seed}`,
    ],
    null_reward: ['Attempts That Do Not Count', ruleText(nullReward ?? format?.nullRules[0])],
    paths: ['Names of Home Folders', hidePaths === true ? 'hidden' : 'as they are'],
  };
  return CHANGES.filter((change) => change !== 'null_reward' || format !== undefined).map((value) => ({
    label: values[value][0],
    description: values[value][1],
    value,
  }));
}

const RULES: Readonly<Record<NullRule, string>> = {
  keep: 'written, with no reward',
  drop_row: 'left out',
  drop_group: 'left out, with all attempts of their task',
  mask: 'masked, with the mean reward of their task',
  mean_of_group: 'written, with the mean reward of their task',
  error: 'end the export',
};

export function ruleText(rule: NullRule | undefined): string {
  return rule === undefined ? '' : RULES[rule];
}

export function rulesOf(format: string): TrainingFormat['nullRules'] | undefined {
  return trainingFormat(format)?.nullRules;
}

function rangeText(low: number | undefined, high: number | undefined, from: string, to: string): string {
  const ends = [low === undefined ? [] : `${from} ${low}`, high === undefined ? [] : `${to} ${high}`].flat();
  return ends.length === 0 ? 'any' : ends.join(', ');
}

/** Parses two numbers around `..`, either of which may be missing. Returns undefined if the text is not a range. */
export function parseRange(text: string): { low?: number; high?: number } | undefined {
  const match = /^\s*(-?\d+(?:\.\d+)?)?\s*\.\.\s*(-?\d+(?:\.\d+)?)?\s*$/.exec(text);
  if (match === null) return undefined;
  const [low, high] = [match[1], match[2]].map((part) => (part === undefined ? undefined : Number(part)));
  return { ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
}

const counts = z.record(z.string(), z.number());
/** What `rollout export --preview --json` prints. */
export const exportPreview = z.object({
  attempts: z.number(),
  groups: z.number(),
  estimated_bytes: z.number(),
  first: z.array(z.string()),
  left_out: z.object({ attempts: counts, parts: counts }),
});
export type ExportPreview = z.infer<typeof exportPreview>;
/** What `rollout export --out --json` prints. */
export const exportReply = z.object({
  attempts: z.number(),
  lines: z.number(),
  bytes: z.number(),
  left_out: z.object({ attempts: counts, parts: counts }),
});

/** Characters of a line in a preview. */
const LINE = 4_000;
/** How long texts and lists in it may be: the first of these with which it is not too long. */
const LIMITS = [
  { characters: 1_000, items: 100 },
  { characters: 300, items: 12 },
  { characters: 80, items: 4 },
  { characters: 40, items: 2 },
] as const;
/** Numbers of a list. */
const NUMBERS = 8;

export function previewSummary({ attempts, groups, estimated_bytes: size }: ExportPreview): string {
  return `${plural(attempts, 'attempt')} of ${plural(groups, 'task')}, about ${bytes(size)}`;
}

/** Returns the preview as Markdown. */
export function previewText(name: string, choices: ExportChoices, preview: ExportPreview): string {
  const { left_out: leftOut, first } = preview;
  const label = formatChoices().find(({ id }) => id === choices.format)?.label ?? choices.format;
  const left = [
    ...Object.entries(leftOut.attempts).map(([why, count]) => `- ${plural(count, 'attempt')}: ${why}`),
    ...Object.entries(leftOut.parts).map(([why, count]) => `- of the attempts below, ${count} ${why}`),
  ];
  return [
    `# Export of ${name}`,
    `${label}: ${previewSummary(preview)}. Nothing is written yet.`,
    ...(left.length === 0 ? [] : ['## Left out', left.join('\n')]),
    '## First lines',
    ...(first.length === 0
      ? ['None.']
      : first.map((line) => `\`\`\`${fenceOf(choices.format)}\n${shown(line, choices.format)}\n\`\`\``)),
    '',
  ].join('\n\n');
}

function fenceOf(format: string): string {
  return format === 'csv' ? 'csv' : 'json';
}

/** Long texts and lists are shortened, so that the fields around them can be seen, and the line is JSON as it was. */
function shown(line: string, format: string): string {
  if (format === 'csv') return line.length <= LINE ? line : `${line.slice(0, LINE)}\n…`;
  const value: unknown = JSON.parse(line);
  let text = '';
  for (const limits of LIMITS) {
    text = jsonText(value, limits);
    if (text.length <= LINE) break;
  }
  return text.replaceAll('```', '` ` `');
}

function jsonText(value: unknown, { characters, items }: (typeof LIMITS)[number]): string {
  const short = (_key: string, one: unknown): unknown => {
    if (typeof one === 'string' && one.length > characters)
      return `${one.slice(0, characters)}… ${count(one.length)} characters`;
    if (!Array.isArray(one)) return one;
    if (one.length > NUMBERS && one.every((item) => typeof item === 'number'))
      return [...one.slice(0, NUMBERS), `… ${one.length} numbers`];
    return one.length > items ? [...(one as unknown[]).slice(0, items), `… ${one.length} items`] : one;
  };
  return JSON.stringify(value, short, 2).replace(
    /\[\n\s+(-?[\d.e-]+(?:,\n\s+(?:-?[\d.e-]+|"… \d+ numbers"))*)\n\s+\]/g,
    (_, inner: string) => `[${inner.replace(/\n\s+/g, ' ')}]`,
  );
}
