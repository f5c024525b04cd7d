import { z } from 'zod';
import type { Json } from '../../../common/json.ts';
import { plural } from '../../../common/text.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { textResponse } from '../../outcome.ts';
import { WorkFolder } from '../../workFolder.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { bytesOf } from '../bytes.ts';
import { withFileErrors } from '../fileErrors.ts';
import { type Area, CellError, columnLetters, parseSpot, type Spot, spotName, type Value } from './cells.ts';
import { FormulaError } from './formula/tokens.ts';
import type { Workbook } from './workbook.ts';

const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum number of cells per call. */
const MAX_CELLS = 20_000;
const MAX_PROBLEMS = 5;

const file = z.string().min(1).describe('Path of the .xlsx file, relative to the working directory.');
const sheetName = z.string().min(1).describe('Name of the sheet.');
const cellName = z.string().regex(/^\$?[A-Za-z]{1,3}\$?\d{1,7}$/, 'expected a cell such as B3');
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/**
 * Creates tools for .xlsx files: `extract_excel_content`, `read_data_from_excel`, `write_data_to_excel`,
 * `apply_formula`.
 */
export function spreadsheetTools({ cwd }: Pick<ToolEnvironment, 'cwd'>): BuiltinTool[] {
  const readOnly = { effect: 'pure', sessionBound: false } as const;
  const changing = { effect: 'irreversible', sessionBound: true } as const;
  return [
    builtin('spreadsheet', {
      name: 'extract_excel_content',
      ...readOnly,
      description:
        'Returns the content of an Excel workbook (.xlsx) as one table per sheet: values, including the results of ' +
        `formulas. Up to ${MAX_CELLS} cells; use read_data_from_excel to read parts of larger workbooks.`,
      input: z.object({
        file_path: file,
        sheet_names: z.array(sheetName).optional().describe('The sheets to return. Default: all.'),
        include_empty_cells: z.boolean().default(true).describe('Whether to include empty rows.'),
      }),
      run: async ({ file_path, sheet_names, include_empty_cells }) => {
        const workbook = await open(cwd, file_path);
        return textResponse({ text: content(workbook, sheet_names ?? workbook.names, include_empty_cells) });
      },
    }),
    builtin('spreadsheet', {
      name: 'read_data_from_excel',
      ...readOnly,
      description:
        'Reads a range of cells from an Excel workbook (.xlsx), row by row: values, including the results of ' +
        'formulas. Dates are returned as text.',
      input: z.object({
        filepath: file,
        sheet_name: sheetName,
        start_cell: cellName.default('A1').describe('The top-left cell.'),
        end_cell: cellName.optional().describe('The bottom-right cell. Default: the end of the data.'),
        formulas: z.boolean().default(false).describe('Whether to also return formulas by cell.'),
      }),
      run: async ({ filepath, sheet_name, start_cell, end_cell, formulas }) => {
        const workbook = await open(cwd, filepath);
        const sheet = workbook.sheet(sheet_name);
        const from = spot(start_cell);
        const to =
          end_cell === undefined
            ? { column: Math.max(from.column, sheet.used.column), row: Math.max(from.row, sheet.used.row) }
            : spot(end_cell);
        const cells = (to.row - from.row + 1) * (to.column - from.column + 1);
        if (to.row < from.row || to.column < from.column)
          throw new ClassedError(
            'invalid_arguments',
            `${end_cell ?? ''} is not to the right of and below ${start_cell}.`,
          );
        if (cells > MAX_CELLS)
          throw new ClassedError(
            'tool_error',
            `${spotName(from)}:${spotName(to)} has ${cells} cells; the maximum per call is ${MAX_CELLS}.`,
          );
        const formulaEntries = !formulas
          ? []
          : [...sheet.formulas()]
              .filter(
                ({ column, row }) => row >= from.row && row <= to.row && column >= from.column && column <= to.column,
              )
              .map((at) => [spotName(at), `=${sheet.formula(at) ?? ''}`] as const);
        return {
          response: {
            area: `${spotName(from)}:${spotName(to)}`,
            rows: table(workbook, sheet_name, { from, to }),
            ...(formulas ? { formulas: Object.fromEntries(formulaEntries) } : {}),
          },
        };
      },
    }),
    builtin('spreadsheet', {
      name: 'write_data_to_excel',
      ...changing,
      description:
        'Writes rows of values to an Excel workbook (.xlsx), starting at a cell. Creates the file and the sheet if ' +
        'they do not exist. Text that starts with = is a formula; all formulas are recalculated.',
      input: z.object({
        filepath: file,
        sheet_name: sheetName,
        data: z
          .array(z.array(scalar))
          .min(1)
          .describe('Rows of values: text, numbers, booleans, or null for blank cells.'),
        start_cell: cellName.default('A1').describe('The top-left cell.'),
      }),
      run: async ({ filepath, sheet_name, data, start_cell }) => {
        const workbook = await openOrNew(cwd, filepath);
        const sheet = workbook.names.includes(sheet_name) ? workbook.sheet(sheet_name) : workbook.addSheet(sheet_name);
        const from = spot(start_cell);
        data.forEach((values, row) =>
          values.forEach((value, column) => {
            sheet.write({ row: from.row + row, column: from.column + column }, value);
          }),
        );
        const problems = workbook.recalculate();
        await save(cwd, filepath, workbook);
        return {
          response: { written: data.reduce((count, values) => count + values.length, 0), ...problemsOf(problems) },
        };
      },
    }),
    builtin('spreadsheet', {
      name: 'apply_formula',
      ...changing,
      description: 'Writes a formula to a cell of an Excel workbook (.xlsx) and returns its result.',
      input: z.object({
        filepath: file,
        sheet_name: sheetName,
        cell: cellName.describe('The cell, e.g. D2.'),
        formula: z.string().min(2).describe('The formula, e.g. =SUM(A1:A9).'),
      }),
      run: async ({ filepath, sheet_name, cell, formula }) => {
        const workbook = await open(cwd, filepath);
        const at = spot(cell);
        workbook.sheet(sheet_name).write(at, formula.startsWith('=') ? formula : `=${formula}`);
        const value = computed(() => workbook.evaluator().value(sheet_name, at));
        const problems = workbook.recalculate();
        await save(cwd, filepath, workbook);
        return { response: { cell: spotName(at), value: formatValue(value, undefined), ...problemsOf(problems) } };
      },
    }),
  ];
}

async function open(cwd: string, file: string): Promise<Workbook> {
  const bytes = await bytesOf(cwd, file, MAX_BYTES);
  const { Workbook: WorkbookClass } = await import('./workbook.ts'); // includes the spreadsheet functions, 200 kB
  return new WorkbookClass(bytes);
}

async function openOrNew(cwd: string, file: string): Promise<Workbook> {
  try {
    return await open(cwd, file);
  } catch (error) {
    const cause = error instanceof ClassedError ? error.cause : undefined;
    if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ENOENT') throw error;
    const { Workbook: WorkbookClass } = await import('./workbook.ts');
    return new WorkbookClass(undefined);
  }
}

async function save(cwd: string, file: string, workbook: Workbook): Promise<void> {
  await withFileErrors(file, () => new WorkFolder(cwd).write(file, workbook.bytes()));
}

function spot(reference: string): Spot {
  const found = parseSpot(reference);
  if (found === undefined) throw new ClassedError('invalid_arguments', `"${reference}" is not a valid cell.`);
  return found;
}

function table(workbook: Workbook, name: string, { from, to }: Area): Json[][] {
  const evaluator = workbook.evaluator();
  const sheet = workbook.sheet(name);
  const rows: Json[][] = [];
  for (let row = from.row; row <= to.row; row++) {
    const values: Json[] = [];
    for (let column = from.column; column <= to.column; column++) {
      const at = { column, row };
      try {
        values.push(
          formatValue(workbook.value(name, at, evaluator), (value) => workbook.dates.text(value, sheet.style(at))),
        );
      } catch (error) {
        if (!(error instanceof FormulaError)) throw error;
        values.push(`[not computed: ${error.message}]`);
      }
    }
    rows.push(values);
  }
  return rows;
}

function formatValue(value: Value, date: ((value: number) => string | undefined) | undefined): Json {
  if (value instanceof CellError) return value.name;
  return typeof value === 'number' ? (date?.(value) ?? value) : value;
}

/** Turns unsupported formulas into tool errors. */
function computed<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof FormulaError ? new ClassedError('tool_error', error.message, { cause: error }) : error;
  }
}

function problemsOf(problems: readonly string[]): { not_computed?: string[] } {
  if (problems.length === 0) return {};
  return {
    not_computed: [
      ...problems.slice(0, MAX_PROBLEMS),
      ...(problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more`] : []),
    ],
  };
}

/** Formats sheets as Markdown tables with column letters and row numbers. */
function content(workbook: Workbook, names: readonly string[], empty: boolean): string {
  let remaining = MAX_CELLS;
  const parts: string[] = [];
  for (const name of names) {
    const { used } = workbook.sheet(name);
    const last = Math.min(used.row, Math.floor(remaining / Math.max(1, used.column)));
    remaining -= last * used.column;
    const rows = table(workbook, name, { from: { column: 1, row: 1 }, to: { column: used.column, row: last } });
    const lines = rows.flatMap((values, index) =>
      !empty && values.every((value) => value === null)
        ? []
        : [`| ${index + 1} | ${values.map(inTable).join(' | ')} |`],
    );
    const letters = Array.from({ length: used.column }, (_, index) => columnLetters(index + 1));
    parts.push(
      [
        `## ${name} (${plural(used.row, 'row')}, ${plural(used.column, 'column')})`,
        ...(lines.length === 0
          ? ['empty']
          : [`| | ${letters.join(' | ')} |`, `|---|${letters.map(() => '---|').join('')}`, ...lines]),
        ...(last < used.row ? [`[rows ${last + 1} to ${used.row} are omitted]`] : []),
      ].join('\n'),
    );
  }
  return parts.join('\n\n');
}

function inTable(value: Json): string {
  return value === null || typeof value === 'object'
    ? ''
    : String(value).replaceAll('|', '\\|').replaceAll(/\r?\n/g, ' ');
}
