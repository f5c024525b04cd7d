import path from 'node:path';
import { z } from 'zod';
import { type WrittenFile, writeExport } from '../../client/export/files.ts';
import { manifestText } from '../../client/export/manifest.ts';
import { EXPORT_FORMATS, Export } from '../../client/export/run.ts';
import { batchId } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { exportRedaction, REDACTION_RULES } from '../../common/redaction/exported.ts';
import { plural } from '../../common/text.ts';
import { withoutUndefined } from '../../common/withoutUndefined.ts';
import { NULL_RULES, type NullRule } from '../../formats/training/format.ts';
import { OUTCOMES } from '../../trace/outcome.ts';
import { type Selection, SPLIT_PARTS, selection } from '../../trace/selection/selection.ts';
import {
  type Command,
  type CommandLine,
  flag,
  numberOption,
  type Option,
  textOption,
  textOptions,
} from '../command.ts';
import type { Context } from '../context.ts';

/** Attempts that a preview reads, unless the user names a number. */
const PREVIEW = 4;

const SELECTION_OPTIONS: Readonly<Record<string, Option>> = {
  outcome: {
    type: 'string',
    value: 'OUTCOME',
    multiple: true,
    text: `only attempts with this outcome; repeatable: ${OUTCOMES.slice(0, 6).join(', ')}`,
  },
  'min-reward': { type: 'string', value: 'X', text: 'only attempts with at least this reward' },
  'max-reward': { type: 'string', value: 'X', text: 'only attempts with at most this reward' },
  'rate-above': { type: 'string', value: 'X', text: 'only tasks of which more than this share passed, such as 0' },
  'rate-below': { type: 'string', value: 'X', text: 'only tasks of which less than this share passed, such as 1' },
  weights: { type: 'string', value: 'N', text: 'with --max-versions: the current version of the weights' },
  'max-versions': {
    type: 'string',
    value: 'N',
    text: 'only attempts whose weights are at most so many versions behind --weights',
  },
  replaced: { type: 'boolean', text: 'also members of groups that others replaced because their weights were too old' },
  where: { type: 'string', value: 'CEL', text: 'only attempts for which this is true, such as "step < 20"' },
  'max-per-task': { type: 'string', value: 'N', text: 'at most so many attempts of each task' },
  distinct: { type: 'boolean', text: 'only one of the attempts of a task with equal trajectories' },
  split: { type: 'string', value: 'PART', text: `only tasks in this part: ${SPLIT_PARTS.join(' or ')}` },
  'test-size': { type: 'string', value: 'X', text: 'with --split: the share of tasks in the part test (default 0.1)' },
  seed: { type: 'string', value: 'N', text: 'with --split: another seed gives another split (default 42)' },
};

export const exportAttempts: Command = {
  name: 'export',
  usage: 'BATCH… [--to FORMAT] [--out FILE]',
  text:
    'Writes the attempts of batches: as a table, as groups of token IDs, or in the format of a trainer. Next to FILE ' +
    'is a manifest with what was taken, what was left out and why, and hashes.',
  options: {
    to: {
      type: 'string',
      value: 'FORMAT',
      text: `the format (default csv): ${EXPORT_FORMATS.map(({ id }) => id).join(', ')}`,
    },
    out: { type: 'string', value: 'FILE', text: 'write to this file instead of stdout' },
    ...SELECTION_OPTIONS,
    'null-reward': {
      type: 'string',
      value: 'RULE',
      text: `what to do with attempts that have no reward or do not count: ${NULL_RULES.join(', ')}; never 0`,
    },
    redact: {
      type: 'string',
      value: 'RULE',
      multiple: true,
      text: `what to hide, in addition to keys: ${REDACTION_RULES.slice(1).join(', ')}; repeatable`,
    },
    preview: { type: 'boolean', text: 'write nothing: print counts, the first lines, and the estimated size' },
  },
  async run(context, commandLine) {
    const selected = selectionOf(commandLine);
    const rule = nullRule(textOption(commandLine, 'null-reward'));
    const redaction = exportRedaction(textOptions(commandLine, 'redact'), context.env);
    const format = textOption(commandLine, 'to') ?? 'csv';
    if (commandLine.words.length === 0)
      throw new StudioError('usage', `usage: rollout ${exportAttempts.name} ${exportAttempts.usage}`);
    const { api } = await context.connect();
    const batches: string[] = [];
    for (const word of commandLine.words) batches.push(await batchId(api, word, context.signal));
    const settings = { batches, format, selection: selected, nullReward: rule, redaction };
    const prepared = await Export.prepare(api, settings, context.signal);
    const out = textOption(commandLine, 'out');
    if (flag(commandLine, 'preview')) await preview(context, prepared, format);
    else if (out === undefined) await print(context, prepared, format);
    else await write(context, prepared, format, out);
    return 0;
  },
};

async function print(context: Context, prepared: Export, format: string): Promise<void> {
  if (format === 'parquet')
    throw new StudioError('usage', 'A Parquet file cannot be printed.', { hint: 'Name a file with --out.' });
  const parts: Uint8Array[] = [];
  for await (const part of prepared.bytes()) parts.push(part);
  const written = Buffer.concat(parts).toString('utf8');
  if (context.json) context.printJson({ ...countsOf(prepared), [format === 'csv' ? 'csv' : 'lines']: written });
  else if (written !== '') context.print(written.trimEnd());
  logCounts(context, prepared);
}

async function write(context: Context, prepared: Export, format: string, out: string): Promise<void> {
  const file = path.resolve(context.cwd, out);
  const manifest = (written: WrittenFile): string => {
    const { batches, selection: by, nullReward, counts, groups, redaction } = prepared;
    return manifestText({
      ...{ format, batches, selection: by },
      ...(nullReward === undefined ? {} : { null_reward: nullReward }),
      taken: { attempts: counts.attempts, groups, lines: counts.lines },
      left_out: { attempts: counts.attempts_left_out, parts: counts.parts_left_out },
      redaction: redaction.counts,
      files: [written],
    });
  };
  const written = await writeExport(file, out, prepared.bytes(), manifest, context.signal);
  if (context.json) context.printJson({ ...countsOf(prepared), file, bytes: written.bytes, sha256: written.sha256 });
  else {
    const { attempts, lines } = prepared.counts;
    context.print(
      `${plural(attempts, 'attempt')}${lines === attempts ? '' : ` in ${plural(lines, 'line')}`} written to ${out}.`,
    );
  }
  logCounts(context, prepared);
}

async function preview(context: Context, prepared: Export, format: string): Promise<void> {
  const { lines, bytes } = await prepared.preview(PREVIEW);
  const { attempts, groups } = prepared;
  const facts = { ...countsOf(prepared), attempts, groups, estimated_bytes: bytes };
  if (context.json) context.printJson({ ...facts, format, first: [...lines] });
  else {
    context.print(
      `${plural(attempts, 'attempt')} of ${plural(groups, 'task')}, about ${bytes.toLocaleString('en')} bytes.`,
    );
    for (const line of lines) context.print(line);
  }
  logCounts(context, prepared);
}

function countsOf({ batches, counts, nullReward }: Export): JsonObject {
  return {
    batches: batches.map(({ batch }) => batch),
    attempts: counts.attempts,
    lines: counts.lines,
    ...(nullReward === undefined ? {} : { null_reward: nullReward }),
    left_out: { attempts: { ...counts.attempts_left_out }, parts: { ...counts.parts_left_out } },
  };
}

function logCounts(context: Context, { counts, redaction }: Export): void {
  for (const [why, count] of Object.entries(counts.attempts_left_out))
    context.log(`${plural(count, 'attempt')} left out: ${why}.`);
  for (const [why, count] of Object.entries(counts.parts_left_out)) context.log(`Left out: ${count} ${why}.`);
  for (const [name, count] of Object.entries(redaction.counts))
    if (count > 0) context.log(`Redacted by ${name}: ${plural(count, 'place')}.`);
}

/** Throws StudioError `usage` for an option that is not valid. */
function selectionOf(commandLine: CommandLine): Selection {
  const number = (name: string): number | undefined => decimal(name, textOption(commandLine, name));
  const range = (low: string, high: string, names: readonly [string, string]): Record<string, number> | undefined => {
    const ends = [low, high].flatMap((name, index) => {
      const value = number(name);
      return value === undefined ? [] : [[names[index] ?? name, value] as const];
    });
    return ends.length === 0 ? undefined : Object.fromEntries(ends);
  };
  const part = textOption(commandLine, 'split');
  const [share, seed] = [number('test-size'), numberOption(commandLine, 'seed', 0)];
  if (part === undefined && (share ?? seed) !== undefined)
    throw new StudioError('usage', '--test-size and --seed need --split.', { hint: 'Add --split train.' });
  const [version, most] = [numberOption(commandLine, 'weights', 0), numberOption(commandLine, 'max-versions', 0)];
  if ((version === undefined) !== (most === undefined))
    throw new StudioError('usage', '--weights and --max-versions need each other.');
  const outcomes = textOptions(commandLine, 'outcome');
  const parsed = selection.safeParse(
    withoutUndefined({
      outcomes: outcomes.length === 0 ? undefined : outcomes,
      reward: range('min-reward', 'max-reward', ['min', 'max']),
      rate: range('rate-above', 'rate-below', ['above', 'below']),
      weights: version === undefined || most === undefined ? undefined : { version, max_versions: most },
      replaced: flag(commandLine, 'replaced') ? true : undefined,
      where: textOption(commandLine, 'where'),
      per_task: numberOption(commandLine, 'max-per-task', 1),
      distinct: flag(commandLine, 'distinct') ? true : undefined,
      split: part === undefined ? undefined : { seed: seed ?? 42, share: share ?? 0.1, part },
    }),
  );
  if (parsed.success) return parsed.data;
  throw new StudioError('usage', `The selection is invalid: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}.`);
}

function decimal(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value))
    throw new StudioError('usage', `--${name} must be a number, not “${text}”.`);
  return value;
}

function nullRule(text: string | undefined): NullRule | undefined {
  if (text === undefined) return undefined;
  const rule = NULL_RULES.find((one) => one === text);
  if (rule === undefined)
    throw new StudioError('usage', `There is no rule ${text} for null rewards.`, {
      hint: `Available: ${NULL_RULES.join(', ')}.`,
    });
  return rule;
}
