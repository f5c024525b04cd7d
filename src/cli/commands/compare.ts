import { reportInput } from '../../client/commands/reportInput.ts';
import { batchId, parseReference, type Reference, resolveRollout, resolveTask } from '../../client/reference.ts';
import { attemptsText, batchesText } from '../../client/text/compareText.ts';
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import { bestReference, type ComparedAttempt, comparedAttempt } from '../../trace/align/attempt.ts';
import { compareBatches } from '../../trace/align/batches.ts';
import { type Alignment, align } from '../../trace/align/columns.ts';
import { callDifferences } from '../../trace/align/differences.ts';
import { prefixTree } from '../../trace/align/prefixTree.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { attemptRow } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { REWARD, rowsByScorer } from '../../trace/verdicts.ts';
import { type Command, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

export const compare: Command = {
  name: 'compare',
  usage: 'BATCH/TASK | ATTEMPT ATTEMPT … | BATCH BATCH',
  text:
    'Compares attempts as a tree of their actions with pass rates and step by step, or compares two batches (the ' +
    'earlier one first).',
  options: {
    scorer: { type: 'string', value: 'NAME', text: 'use the verdicts of this scorer instead of the rewards' },
  },
  async run(context, commandLine) {
    const { words } = commandLine;
    const scorer = textOption(commandLine, 'scorer') ?? REWARD;
    const [first, ...more] = words;
    if (first === undefined) throw new StudioError('usage', `usage: rollout compare ${compare.usage}`);
    if (more.length === 0) return compareTask(context, first, scorer);
    const references = words.map((word) => parseReference(word));
    const batches = references.filter((reference) => reference.kind === 'batch');
    if (batches.length === 0)
      return compareAttempts(
        context,
        references.filter((reference) => reference.kind !== 'batch'),
        scorer,
      );
    if (batches.length === 2 && words.length === 2) return compareTwoBatches(context, first, more[0] ?? '', scorer);
    throw new StudioError(
      'usage',
      batches.length === words.length
        ? 'Only two batches can be compared at a time.'
        : 'A batch cannot be compared with an attempt.',
      { hint: `Use ${compare.usage}.` },
    );
  },
};

async function compareTask(context: Context, word: string, scorer: string): Promise<Outcome> {
  if (!word.includes('/'))
    throw new StudioError('usage', `Nothing to compare “${word}” with.`, { hint: `Use ${compare.usage}.` });
  const { api } = await context.connect();
  const { batch, task } = await resolveTask(api, word, context.signal);
  const all = await Array.fromAsync(api.allRollouts(batch, { task, all: 1 }, context.signal));
  const rows = rowsByScorer(all, scorer);
  const attempts = [...Map.groupBy(rows, (row) => row.attempt).values()].flatMap((tries) => attemptRow(tries) ?? []);
  return show(
    context,
    api,
    task,
    attempts.toSorted((a, b) => a.attempt - b.attempt),
    (row) => String(row.attempt),
    bestReference,
  );
}

async function compareAttempts(
  context: Context,
  references: readonly Exclude<Reference, { kind: 'batch' }>[],
  scorer: string,
): Promise<Outcome> {
  const { api } = await context.connect();
  const read: RolloutRow[] = [];
  for (const reference of references)
    read.push((await api.rollout(await resolveRollout(api, reference, context.signal), context.signal)).row);
  const rows = rowsByScorer(read, scorer);
  const tasks = [...new Set(rows.map((row) => row.task))];
  if (tasks.length > 1) context.log(`These attempts are of different tasks: ${tasks.join(', ')}.`);
  const oneBatch = rows.every((row) => row.batch === rows[0]?.batch);
  const numbers = new Set(rows.map((row) => row.attempt));
  const short = oneBatch && tasks.length === 1 && numbers.size === rows.length;
  return show(
    context,
    api,
    tasks.join(', '),
    rows,
    (row) => (short ? String(row.attempt) : row.rollout),
    () => 0,
  );
}

/** Reads the attempts and prints them compared with the reference that `choose` selects. */
async function show(
  context: Context,
  api: Api,
  title: string,
  rows: readonly RolloutRow[],
  nameOf: (row: RolloutRow) => string,
  choose: (attempts: readonly ComparedAttempt[]) => number,
): Promise<Outcome> {
  const attempts: ComparedAttempt[] = [];
  for (const row of rows) {
    const model = new TrajectoryModel();
    for await (const page of api.allEvents(row.rollout, context.signal))
      model.push(page.map((event) => readEvent(event)));
    attempts.push(comparedAttempt(row, model));
  }
  const tree = prefixTree(attempts);
  const alignment = align(attempts, choose(attempts));
  if (context.json) context.printJson({ task: title, attempts, tree, ...alignmentJson(alignment) });
  else
    context.printColored(
      attemptsText(title, attempts, rows.map(nameOf), tree, alignment, {
        width: context.terminal.width,
        color: context.terminal.colour,
      }),
    );
  return 0;
}

/** References actions by seq, because the attempts already contain them, and lists the differences in full. */
function alignmentJson({ reference, rows, splits, firstSplit }: Alignment): object {
  return {
    reference,
    first_split: firstSplit ?? null,
    splits: splits.map((split) =>
      split === undefined
        ? null
        : {
            common: split.common,
            alike: split.alike,
            reference: split.a?.seq ?? null,
            own: split.b?.seq ?? null,
            rejoin: split.rejoin === undefined ? null : { reference: split.rejoin.a.seq, own: split.rejoin.b.seq },
          },
    ),
    rows: rows.map((row) => ({
      base: row.base,
      differs: row.differs,
      cells: row.cells.map((cell, index) => {
        const base = row.cells[row.base]?.action;
        const differences =
          cell.action === undefined || base === undefined || index === row.base
            ? []
            : callDifferences(base, cell.action);
        return {
          state: cell.state,
          ...(cell.action === undefined ? {} : { step: cell.action.step, seq: cell.action.seq }),
          ...(differences.length === 0 ? {} : { differences }),
        };
      }),
    })),
  };
}

async function compareTwoBatches(context: Context, before: string, after: string, scorer: string): Promise<Outcome> {
  const { api } = await context.connect();
  const inputOf = async (name: string): ReturnType<typeof reportInput> => {
    const row = await api.batch(await batchId(api, name, context.signal), context.signal);
    const input = await reportInput(api, row, [], context.signal);
    return { ...input, rows: rowsByScorer(input.rows, scorer) };
  };
  const compared = compareBatches(await inputOf(before), await inputOf(after));
  if (context.json) context.printJson(compared);
  else context.printColored(batchesText(compared, { width: context.terminal.width, color: context.terminal.colour }));
  return 0;
}
