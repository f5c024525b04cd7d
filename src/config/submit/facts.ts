/**
 * The facts of search worlds: reads their rows once, on the submitting machine, and gives tasks the answers that a
 * query finds in them.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { StudioError } from '../../common/errors.ts';
import { canonicalJson, type Json } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { readTasks, recordProblem } from '../dataset/dataset.ts';
import { Answers, leakedColumns, shownSentences } from '../facts/answers.ts';
import { type FactPage, factPages, type SourceTable } from '../facts/pages.ts';
import { pagesOf } from '../facts/rows.ts';
import { type Query, type QueryResult, queryOf, truthOf, valuesIn } from '../facts/truth.ts';
import { hasWords, type Word, wordsOf } from '../facts/words.ts';
import type { Files } from '../files.ts';
import { type LoadedSimulatedWorld, type LoadedWorld, worldsIn } from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import { dirname, joinPath } from '../paths.ts';
import type { FactsSection } from '../schema/factsSection.ts';
import { hasErrors, type Problem, problemsError } from '../source/problem.ts';
import type { SubmissionBlob } from './blobs.ts';

/** Reads databases and queries them. */
export interface FactPorts {
  /**
   * Reads all tables of a SQLite file, or of one that a `.sql` file creates. Throws StudioError `config`; with
   * `details.line` if that line of a `.sql` file is wrong.
   */
  facts(database: string): Promise<readonly SourceTable[]>;
  /** Answers queries from these tables. Throws StudioError `config` if that takes too long. */
  query(tables: readonly SourceTable[], queries: readonly Query[]): Promise<readonly QueryResult[]>;
}

interface ReadFacts {
  readonly tables: readonly SourceTable[];
  readonly pages: readonly FactPage[];
  /** Warnings. */
  readonly problems: readonly Problem[];
}

/** Where facts are read. */
interface FactsPlace {
  readonly files: Files;
  readonly simulation: FactPorts;
}

type FactsWorld = LoadedSimulatedWorld & { readonly file: { readonly facts: FactsSection } };

/** How many problems of one kind are listed. */
const MAX_LISTED = 20;

/** Returns the worlds with facts among a world and those that it contains. */
export function factsWorldsIn(world: LoadedWorld | undefined): FactsWorld[] {
  return worldsIn(world).filter(hasFacts);
}

function hasFacts(world: LoadedWorld): world is FactsWorld {
  return world.kind === 'simulated' && world.file.facts !== undefined;
}

/** Reads the pages of a world. Throws StudioError `config`, with the place, if something is wrong with them. */
async function readFacts(world: FactsWorld, root: string, files: Files, ports: FactPorts): Promise<ReadFacts> {
  const { parsed, path } = world;
  const { facts } = world.file;
  const database = files.absolute(joinPath(dirname(path), facts.database));
  const tables = await read(world, database, root, ports);
  const { pages, problems } = pagesOf(facts, tables, world.file.name);
  if (problems.length > 0)
    throw problemsError(
      problems.slice(0, MAX_LISTED).map(({ at, ...text }) => parsed.problem(['facts', ...at], text)),
      root,
    );
  const leaks = pages.flatMap((page) => leakedColumns(page).map((column) => ({ page, column })));
  const warnings = leaks.slice(0, MAX_LISTED).map(({ page, column }) =>
    parsed.problem(['facts'], {
      code: 'value',
      severity: 'warning',
      message:
        `search results show the answer \`${column}\` of row ${page.row} of \`${page.table}\` in its title, ` +
        'address, or date',
      hint: 'Change that row, or leave the column out of `answers`.',
    }),
  );
  return { tables, pages, problems: warnings };
}

async function read(
  { parsed }: FactsWorld,
  database: string,
  root: string,
  ports: FactPorts,
): Promise<readonly SourceTable[]> {
  try {
    return await ports.facts(database);
  } catch (error) {
    if (!StudioError.is(error, 'config')) throw error;
    const { message, hint = 'Check the file.', details } = error;
    const what = { message: message.replace(/\.$/, ''), hint };
    const line = details?.['line'];
    throw problemsError(
      [
        typeof line === 'number'
          ? { ...recordProblem(database, { line, column: 1 }, what), code: 'value' }
          : parsed.problem(['facts', 'database'], { code: 'value', ...what }),
      ],
      root,
    );
  }
}

/** Worlds are read once, so that their pages and the answers of tasks are of the same rows. */
const READ = new WeakMap<LoadedWorld, Promise<ReadFacts>>();

function readOnce(world: FactsWorld, root: string, { files, simulation }: FactsPlace): Promise<ReadFacts> {
  const read = READ.get(world) ?? readFacts(world, root, files, simulation);
  READ.set(world, read);
  return read;
}

/** Returns the warnings about the pages of a world. Throws as `readFacts` does. */
export async function factsProblems(world: FactsWorld, root: string, place: FactsPlace): Promise<readonly Problem[]> {
  return (await readOnce(world, root, place)).problems;
}

/** Returns the pages of a world as they are sent; nothing for a world without facts. Throws as `readFacts` does. */
export async function sentFacts(
  world: LoadedSimulatedWorld,
  root: string,
  place: FactsPlace,
): Promise<{
  readonly facts?: string;
  readonly blobs: readonly SubmissionBlob[];
  readonly problems: readonly Problem[];
}> {
  if (!hasFacts(world)) return { blobs: [], problems: [] };
  const { pages, problems } = await readOnce(world, root, place);
  const blob = pagesBlob(pages);
  return { facts: blob.sha, blobs: [blob], problems };
}

/** Returns the answers that the world of a batch gives to its tasks. Throws StudioError `config` if it cannot. */
export async function batchTruths(loaded: LoadedBatch, place: FactsPlace): Promise<Truths> {
  const world = factsWorldsIn(loaded.world).find(({ file }) => file.facts.truth !== undefined);
  if (world === undefined) return { answers: new Map(), problems: [] };
  const { files, simulation } = place;
  const truths = await truthsOf(world, await readOnce(world, loaded.root, place), loaded, files, simulation);
  if (hasErrors(truths.problems)) throw problemsError(truths.problems, loaded.root);
  return truths;
}

/** Gives tasks their answers. */
export function answered<T extends { readonly tasks: AsyncIterable<TaskRecord> }>(
  parts: T,
  { answers }: Pick<Truths, 'answers'>,
): T {
  if (answers.size === 0) return parts;
  return {
    ...parts,
    tasks: {
      async *[Symbol.asyncIterator]() {
        for await (const task of parts.tasks) {
          const answer = answers.get(task.id);
          yield answer === undefined ? task : { ...task, answer };
        }
      },
    },
  };
}

/** Returns the blob with the pages of a world. */
function pagesBlob(pages: readonly FactPage[]): SubmissionBlob {
  const bytes = new TextEncoder().encode(JSON.stringify(factPages.parse({ version: 1, pages })));
  return { sha: bytesToHex(sha256(bytes)), media: 'application/json', bytes };
}

interface Truths {
  /** By the ID of the task. */
  readonly answers: ReadonlyMap<string, Json>;
  readonly problems: readonly Problem[];
}

/**
 * Returns the answers that the query of a world gives to the tasks of a batch. Problems: a query that fails or returns
 * nothing, an answer that a task has and that is another one, and as warnings, answers that search results show.
 */
async function truthsOf(
  world: FactsWorld,
  { tables, pages }: Pick<ReadFacts, 'tables' | 'pages'>,
  batch: Pick<LoadedBatch, 'dataset'>,
  files: Files,
  ports: FactPorts,
): Promise<Truths> {
  const { truth } = world.file.facts;
  const answers = new Map<string, Json>();
  if (truth === undefined) return { answers, problems: [] };
  const { spec } = batch.dataset;
  const problems: Problem[] = [];
  const asked: { readonly item: TaskItem; readonly query: Query }[] = [];
  const at = (item: TaskItem, what: { message: string; hint: string; severity?: Problem['severity'] }): void => {
    const place = { line: item.line, column: 1 };
    problems.push(
      recordProblem(item.file ?? spec.path, place, { ...what, message: `task \`${item.id}\`: ${what.message}` }),
    );
  };
  for await (const { task, file, line } of readTasks(files, spec, () => undefined)) {
    const { id, question, answer } = task;
    const item = {
      id,
      line,
      question,
      ...(file === undefined ? {} : { file }),
      ...(answer === undefined ? {} : { answer }),
    };
    const query = queryOf(truth, task);
    if ('missing' in query)
      at(item, {
        message: `it has no \`${query.missing}\`, which \`truth\` of the world ${world.file.name} needs`,
        hint: 'Add it to the task.',
      });
    else asked.push({ item, query });
  }
  const shown = new Shown(pages);
  const results = await ports.query(
    tables,
    asked.map(({ query }) => query),
  );
  for (const [index, { item, query }] of asked.entries()) {
    const result = results[index] ?? { error: 'there is no result' };
    if ('error' in result) {
      at(item, { message: `the query fails: ${result.error}`, hint: `Correct it: ${query.sql}` });
      continue;
    }
    const answer = truthOf(result);
    if (answer === undefined) {
      at(item, { message: 'the query returns no value', hint: `Check the task, and the query: ${query.sql}` });
      continue;
    }
    answers.set(item.id, answer);
    if (item.answer !== undefined && !isSame(item.answer, answer))
      at(item, {
        message: `its answer is ${JSON.stringify(item.answer)}, but the query returns ${JSON.stringify(answer)}`,
        hint: 'Remove the answer from the task: the query gives it.',
      });
    const leak = shown.pageWith(answer, item.question);
    if (leak !== undefined)
      at(item, {
        severity: 'warning',
        message: `a snippet of row ${leak.row} of \`${leak.table}\` can hold the answer ${JSON.stringify(answer)}`,
        hint: 'Name the column with the answer in `answers`, or change that text.',
      });
  }
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity !== 'error');
  return { answers, problems: [...listed(errors), ...listed(warnings)] };
}

interface TaskItem {
  readonly id: string;
  readonly question: string;
  readonly answer?: Json;
  readonly file?: string;
  readonly line: number;
}

/** A number may be written as text. */
function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isSame(written: Json, found: Json): boolean {
  return canonicalJson(written) === canonicalJson(found) || textOf(written) === textOf(found);
}

function listed(problems: readonly Problem[]): Problem[] {
  const rest = problems.length - MAX_LISTED;
  const last = problems[MAX_LISTED - 1];
  if (rest <= 0 || last === undefined) return [...problems];
  return [
    ...problems.slice(0, MAX_LISTED),
    { ...last, message: `${plural(rest, 'more problem')} of this kind`, hint: 'Fix the others first.' },
  ];
}

/** What the results of searches can show, by its words. */
class Shown {
  readonly #byWord = new Map<Word, { readonly page: FactPage; readonly words: readonly Word[] }[]>();

  constructor(pages: readonly FactPage[]) {
    const answers = new Answers(pages);
    for (const page of pages) {
      const words = shownSentences(page, answers).flatMap((sentence) => sentence.words);
      for (const word of new Set(words)) {
        const with_ = this.#byWord.get(word) ?? [];
        this.#byWord.set(word, with_);
        with_.push({ page, words });
      }
    }
  }

  /** Returns a page whose snippet can have all values of an answer, unless the question has them, too. */
  pageWith(answer: Json, question: string): FactPage | undefined {
    const values = valuesIn(answer);
    const asked = wordsOf(question);
    const [first] = values;
    if (first === undefined || values.every((words) => hasWords(asked, words))) return undefined;
    return this.#byWord.get(first[0] ?? '')?.find(({ words }) => values.every((value) => hasWords(words, value)))?.page;
  }
}
