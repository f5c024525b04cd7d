/** One pass over a user's files: reads them, collects every problem, and continues where possible. */

import type { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Files } from '../files.ts';
import { basename, dirname, joinPath, relative } from '../paths.ts';
import { isPromptPath } from '../prompt.ts';
import { type ParsedFile, type Path, type ProblemText, parseFile } from '../source/parse.ts';
import type { Fix, Problem } from '../source/problem.ts';
import { textProblems } from '../source/strings.ts';
import { closest } from '../source/suggest.ts';
import { pathText, type ValidationResult, validate } from '../source/validate.ts';

const MIB = 1024 * 1024;
/** Handwritten files are never larger. */
const FILE_LIMIT = 4 * MIB;

const NEWEST_VERSION = 1;

/** Caches schema checks: the language server checks an agent once for each of its batches. */
const CHECKED = new WeakMap<
  ParsedFile,
  { readonly schema: z.ZodObject; readonly validated: unknown; readonly problems: readonly Problem[] }
>();

/** The text of a prompt or rubric, and its file unless it is inline. */
export interface PromptText {
  readonly text: string;
  readonly path?: string;
}

/** The place where a file is named, and where problems with it are reported. */
export interface Mention {
  readonly parsed: ParsedFile;
  readonly at: Path;
}

export class Reading {
  readonly files: Files;
  readonly problems: Problem[] = [];

  constructor(files: Files) {
    this.files = files;
  }

  /** Adds a problem, unless it comes after a syntax error: what is read from there on is a guess. */
  add(parsed: ParsedFile, problem: Problem): void {
    const guess =
      parsed.brokenAt !== undefined &&
      problem.file === parsed.file &&
      (problem.code === 'missing' || problem.line >= parsed.brokenAt);
    if (!guess) this.problems.push(problem);
  }

  report(parsed: ParsedFile, at: Path, what: ProblemText, where?: 'key' | 'value'): void {
    this.add(parsed, parsed.problem(at, what, where));
  }

  /** Reads a file; returns undefined if it cannot be checked. */
  async parse(path: string, by?: Mention): Promise<ParsedFile | undefined> {
    const text = await this.text(path, by);
    if (text === undefined) return undefined;
    const parsed = this.files.parse?.(path, text) ?? parseFile(path, text);
    this.problems.push(...parsed.problems);
    const newer = newerVersion(parsed.value);
    if (newer === undefined) return parsed;
    this.report(parsed, ['version'], {
      code: 'version',
      message: `this file has version ${newer}, which requires a newer Rollout Studio`,
      hint: `Update Rollout Studio. The installed one supports version ${NEWEST_VERSION}.`,
    });
    return undefined;
  }

  /** Checks a file against its schema. */
  check<S extends z.ZodRawShape>(
    parsed: ParsedFile,
    schema: z.ZodObject<S>,
  ): ValidationResult<z.output<z.ZodObject<S>>> {
    let checked = CHECKED.get(parsed);
    if (checked?.schema !== schema) {
      const validated = validate(parsed, schema);
      checked = { schema, validated, problems: [...validated.problems, ...textProblems(parsed)] };
      CHECKED.set(parsed, checked);
    }
    for (const problem of checked.problems) this.add(parsed, problem);
    return checked.validated as ValidationResult<z.output<z.ZodObject<S>>>; // the result of this schema
  }

  /** Reads the text of a file; reports the reason if it cannot. */
  async text(path: string, by?: Mention): Promise<string | undefined> {
    try {
      const stat = await this.files.stat(path);
      if (stat?.kind === 'file' && stat.bytes <= FILE_LIMIT) return await this.files.readText(path);
      if (stat === undefined) await this.#absent(path, by);
      else if (stat.kind === 'folder')
        this.#unreadable(path, by, `${basename(path)} is a folder`, 'Choose a file in it.');
      else
        this.#unreadable(
          path,
          by,
          `${basename(path)} is too large (${Math.ceil(stat.bytes / MIB)} MiB, maximum ${FILE_LIMIT / MIB} MiB)`,
          'Check that this is the right file. Put data in a dataset.',
        );
    } catch (thrown) {
      this.unreadable(path, thrown, by);
    }
    return undefined;
  }

  /** Reports a file that could not be read. */
  unreadable(path: string, thrown: unknown, by?: Mention): void {
    const hint = StudioError.is(thrown) ? thrown.hint : undefined;
    this.#unreadable(
      path,
      by,
      `cannot read ${basename(path)}: ${thrown instanceof Error ? thrown.message : errorText(thrown)}`,
      hint ?? 'Check its permissions.',
    );
  }

  /** Returns the absolute path of a file that `parsed` names at `at`; if it is missing, reports that. */
  async locate(
    parsed: ParsedFile,
    at: Path,
    written: string,
    endings?: readonly string[],
    kind: 'file' | 'any' = 'file',
  ): Promise<string | undefined> {
    if (written.includes('${')) {
      this.report(parsed, at, {
        code: 'value',
        message: `\`${pathText(at)}\` is a path, which cannot contain \${…}`,
        hint: 'Write the literal path, relative to this file.',
      });
      return undefined;
    }
    const path = joinPath(dirname(parsed.file), written);
    if (endings !== undefined && !endings.some((ending) => path.toLowerCase().endsWith(ending))) {
      this.report(parsed, at, {
        code: 'value',
        message: `\`${pathText(at)}\` must be a file that ends in ${endings.join(', ')}, not \`${written}\``,
        hint: 'Choose a file of that type.',
      });
      return undefined;
    }
    try {
      const stat = await this.files.stat(path);
      if (stat?.kind === 'file' || (stat !== undefined && kind === 'any')) return path;
      if (stat === undefined) await this.#absent(path, { parsed, at });
      else this.#unreadable(path, { parsed, at }, `${basename(path)} is a folder`, 'Choose a file in it.');
    } catch (thrown) {
      this.unreadable(path, thrown, { parsed, at });
    }
    return undefined;
  }

  /** Reads a prompt: a single line that ends in .md or .txt is a path, anything else is the text itself. */
  async prompt(parsed: ParsedFile, at: Path, written: string): Promise<PromptText | undefined> {
    if (!isPromptPath(written)) return { text: written };
    const path = await this.locate(parsed, at, written.trim());
    if (path === undefined) return undefined;
    const text = await this.text(path, { parsed, at });
    if (text === undefined) return undefined;
    if (text.trim() !== '') return { text, path };
    this.report(parsed, at, {
      code: 'value',
      message: `${basename(path)} is empty`,
      hint: 'Add the prompt to the file.',
    });
    return undefined;
  }

  async #absent(path: string, by: Mention | undefined): Promise<void> {
    const names = await this.files.list(dirname(path));
    const near = closest(
      basename(path),
      names.filter((name) => !name.endsWith('/')),
    );
    const folder = by === undefined ? dirname(path) : dirname(by.parsed.file);
    const suggestion = near === undefined ? undefined : relative(folder, joinPath(dirname(path), near));
    const backslash = path.includes('\\');
    const key = by?.at.at(-1);
    const fix: Fix =
      suggestion === undefined
        ? {
            do: 'create',
            file: path,
            role: key === 'module' ? 'module' : key === 'prompt' || key === 'rubric' ? 'prompt' : 'file',
          }
        : { do: 'replace', text: suggestion };
    this.#unreadable(
      path,
      by,
      by === undefined ? `file ${path} not found` : `file ${relative(folder, path)} not found`,
      suggestion !== undefined
        ? `Did you mean \`${suggestion}\`?`
        : backslash
          ? 'Use / in paths.'
          : by === undefined
            ? 'Check the path.'
            : `Create the file, or fix the path, which is relative to ${basename(by.parsed.file)}.`,
      fix,
    );
  }

  #unreadable(path: string, by: Mention | undefined, message: string, hint: string, fix?: Fix): void {
    if (by !== undefined)
      this.report(by.parsed, by.at, { code: 'file', message, hint, ...(fix === undefined ? {} : { fixes: [fix] }) });
    else
      this.problems.push({
        file: path,
        line: 1,
        column: 1,
        endLine: 1,
        endColumn: 1,
        severity: 'error',
        code: 'file',
        message,
        hint,
      });
  }
}

function newerVersion(value: unknown): number | undefined {
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined;
  return typeof version === 'number' && Number.isInteger(version) && version > NEWEST_VERSION ? version : undefined;
}
