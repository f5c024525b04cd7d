/** Makes pages of the rows of tables. */
import type { Json } from '../../common/json.ts';
import { oneLine } from '../../common/text.ts';
import type { FactsSection, FactTable } from '../schema/factsSection.ts';
import type { Path, ProblemText } from '../source/parse.ts';
import { closest } from '../source/suggest.ts';
import type { FactPage, SourceTable } from './pages.ts';
import { wordsOf } from './words.ts';

interface PagesResult {
  readonly pages: readonly FactPage[];
  /** `at`: below `facts`. */
  readonly problems: readonly (ProblemText & { readonly at: Path })[];
}

/** How the columns of a table are used. */
interface Use {
  readonly title: string;
  readonly url: string | undefined;
  readonly date: string | undefined;
  readonly text: readonly string[];
  readonly answers: readonly string[];
}

const TITLES = ['title', 'name'] as const;
/** Longer titles and addresses are none. */
const MAX_LINE = 400;
const MAX_SLUG = 80;
/** Longer answers are texts. */
const MAX_ANSWER = 1_000;

/** Returns the pages of the tables that `facts` names. `world`: its name, for addresses. */
export function pagesOf({ tables: named }: FactsSection, tables: readonly SourceTable[], world: string): PagesResult {
  const problems: (ProblemText & { readonly at: Path })[] = [];
  const pages: FactPage[] = [];
  const urls = new Map<string, FactPage>();
  const report = (at: Path, message: string, hint: string): void => {
    problems.push({ at, code: 'value', message, hint });
  };
  if (tables.length === 0) report(['database'], 'the database has no tables', 'Create some, with rows.');
  const chosen: readonly FactTable[] = named ?? tables.map(({ name }) => ({ name }));
  for (const [index, wanted] of chosen.entries()) {
    const at: Path = named === undefined ? ['database'] : ['tables', index];
    const table = tables.find(({ name }) => name.toLowerCase() === wanted.name.toLowerCase());
    if (table === undefined) {
      report([...at, 'name'], `the database has no table \`${wanted.name}\``, available('tables', wanted.name, tables));
      continue;
    }
    const use = useOf(wanted, table, at, report);
    if (use === undefined) continue;
    for (const [row, values] of table.rows.entries()) {
      const page = pageOf({ table, use, row: row + 1, values, world }, urls, (message, hint) =>
        report(at, message, hint),
      );
      if (page !== undefined) pages.push(page);
    }
  }
  if (problems.length === 0 && pages.length === 0)
    report(['database'], 'the tables have no rows', 'Insert some: each row is a page.');
  return { pages, problems };
}

function available(what: string, wanted: string, all: readonly { readonly name: string }[]): string {
  const names = all.map(({ name }) => name);
  const near = closest(wanted, names);
  return near === undefined ? `Available ${what}: ${names.join(', ')}.` : `Did you mean \`${near}\`?`;
}

function useOf(
  { title, url, date, text = [], answers }: FactTable,
  { name: table, columns, key }: SourceTable,
  at: Path,
  report: (at: Path, message: string, hint: string) => void,
): Use | undefined {
  const found = (wanted: string): string | undefined =>
    columns.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())?.name;
  const missing: string[] = [];
  const named = (wanted: string, where: Path): string => {
    const column = found(wanted);
    if (column !== undefined) return column;
    missing.push(wanted);
    report(
      [...at, ...where],
      `the table \`${table}\` has no column \`${wanted}\``,
      available('columns', wanted, columns),
    );
    return wanted;
  };
  const own = {
    title: title === undefined ? TITLES.map(found).find((column) => column !== undefined) : named(title, ['title']),
    text: text.map((column, index) => named(column, ['text', index])),
    answers: answers?.map((column, index) => named(column, ['answers', index])),
  };
  if (own.title === undefined) {
    report(at, `which column of \`${table}\` has the titles?`, `Write \`tables: [{ name: ${table}, title: … }]\`.`);
    return undefined;
  }
  const taken = new Set([own.title, ...own.text, ...(own.answers ?? [])]);
  const free = (wanted: string): string | undefined => {
    const column = found(wanted);
    return column === undefined || taken.has(column) ? undefined : column;
  };
  const address = url === undefined ? free('url') : named(url, ['url']);
  const day = date === undefined ? free('date') : named(date, ['date']);
  for (const column of [address, day]) if (column !== undefined) taken.add(column);
  const rest = columns.map(({ name }) => name).filter((column) => !taken.has(column) && !key.includes(column));
  if (missing.length > 0) return undefined;
  return { title: own.title, text: own.text, url: address, date: day, answers: own.answers ?? rest };
}

function pageOf(
  { table, use, row, values, world }: PageSource,
  urls: Map<string, FactPage>,
  report: (message: string, hint: string) => void,
): FactPage | undefined {
  const where = `row ${row} of \`${table.name}\``;
  const value = (column: string | undefined): string | number | undefined => {
    const found = values[table.columns.findIndex(({ name }) => name === column)] ?? null;
    if (typeof found === 'string') return found.trim() === '' ? undefined : found;
    if (typeof found === 'number') return found;
    if (found !== null) report(`${where} has a binary value in \`${column ?? ''}\``, 'Use text or a number.');
    return undefined;
  };
  const title = oneLine(String(value(use.title) ?? ''), MAX_LINE);
  if (title === '') {
    report(`${where} has no title (\`${use.title}\`)`, 'Give each row one, or select tables.');
    return undefined;
  }
  const written = value(use.url);
  const url =
    written === undefined ? madeUrl(world, table.name, { row, title }, urls) : oneLine(String(written), MAX_LINE);
  const other = urls.get(url);
  if (other !== undefined) {
    report(`${where} has the address of row ${other.row} of \`${other.table}\`: ${url}`, 'Give each row another one.');
    return undefined;
  }
  const date = value(use.date);
  const entries = <T>(columns: readonly string[], read: (found: string | number) => T): Record<string, T> =>
    Object.fromEntries(
      columns.flatMap((column) => {
        const found = value(column);
        return found === undefined ? [] : [[column, read(found)]];
      }),
    );
  for (const column of use.answers)
    if (String(value(column) ?? '').length > MAX_ANSWER) {
      report(`${where} has a long text in \`${column}\`, which is in \`answers\``, 'Put it in `text`.');
      return undefined;
    }
  const page: FactPage = {
    table: table.name,
    row,
    url,
    title,
    ...(date === undefined ? {} : { date: oneLine(String(date), MAX_LINE) }),
    text: entries(use.text, String),
    answers: entries(use.answers, (found) => found),
  };
  urls.set(url, page);
  return page;
}

interface PageSource {
  readonly table: SourceTable;
  readonly use: Use;
  readonly row: number;
  readonly values: readonly Json[];
  readonly world: string;
}

function madeUrl(
  world: string,
  table: string,
  { row, title }: Pick<FactPage, 'row' | 'title'>,
  urls: ReadonlyMap<string, FactPage>,
): string {
  const part = (text: string): string =>
    encodeURIComponent(wordsOf(text).join('-').replaceAll(/[#@]/g, '').slice(0, MAX_SLUG).toWellFormed()) || 'page';
  const url = `https://${part(world)}.example/${part(table)}/${part(title)}`;
  let candidate = url;
  for (let suffix = row; urls.has(candidate); suffix++) candidate = `${url}-${suffix}`;
  return candidate;
}
