/** One pass over a user's files: reads them, remembers every problem, goes on where it can. */
import type { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Files } from '../files.ts';
import { basename, dirname, joinPath, relative } from '../paths.ts';
import { type ParsedFile, type Path, type ProblemText, parseFile } from '../source/parse.ts';
import type { Fix, Problem } from '../source/problem.ts';
import { textProblems } from '../source/strings.ts';
import { closest } from '../source/suggest.ts';
import { pathText, type ValidationResult, validate } from '../source/validate.ts';

/** What a person writes by hand is never longer. */
const FILE_LIMIT = 4 * 1024 * 1024;

const NEWEST_VERSION = 1;

/** What a file's schema says of it. A language server checks an agent with each of its batches. */
const CHECKED = new WeakMap<
  ParsedFile,
  { readonly schema: z.ZodObject; readonly validated: unknown; readonly problems: readonly Problem[] }
>();

/** A prompt or a rubric: its text, and the file it was in. */
export interface PromptText {
  readonly text: string;
  readonly path?: string;
}

/** The place where a file is named: problems with it are told there. */
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

  /** Behind a syntax error what is read is a guess, so is what would be said about it. */
  add(parsed: ParsedFile, problem: Problem): void {
    const guess =
      parsed.brokenAt !== undefined &&
      problem.file === parsed.file &&
      (problem.code === 'missing' || problem.line >= parsed.brokenAt);
    if (!guess) this.problems.push(problem);
  }

  tell(parsed: ParsedFile, at: Path, what: ProblemText, where?: 'key' | 'value'): void {
    this.add(parsed, parsed.problem(at, what, where));
  }

  /** Reads a file; undefined when there is nothing to check. */
  async parse(path: string, by?: Mention): Promise<ParsedFile | undefined> {
    const text = await this.text(path, by);
    if (text === undefined) return undefined;
    const parsed = this.files.parse?.(path, text) ?? parseFile(path, text);
    this.problems.push(...parsed.problems);
    const newer = newerVersion(parsed.value);
    if (newer === undefined) return parsed;
    this.tell(parsed, ['version'], {
      code: 'version',
      message: `version ${newer}: this file was made by a newer Rollout Studio`,
      hint: `Update Rollout Studio; this one reads version ${NEWEST_VERSION}.`,
    });
    return undefined;
  }

  /** Checks what was read by its schema. */
  check<S extends z.ZodRawShape>(
    parsed: ParsedFile,
    schema: z.ZodObject<S>,
  ): ValidationResult<z.output<z.ZodObject<S>>> {
    let known = CHECKED.get(parsed);
    if (known?.schema !== schema) {
      const validated = validate(parsed, schema);
      known = { schema, validated, problems: [...validated.problems, ...textProblems(parsed)] };
      CHECKED.set(parsed, known);
    }
    for (const problem of known.problems) this.add(parsed, problem);
    return known.validated as ValidationResult<z.output<z.ZodObject<S>>>; // it came from this schema
  }

  /** The text of a small file; tells why when it cannot be had. */
  async text(path: string, by?: Mention): Promise<string | undefined> {
    try {
      const stat = await this.files.stat(path);
      if (stat?.kind === 'file' && stat.bytes <= FILE_LIMIT) return await this.files.readText(path);
      if (stat === undefined) await this.#absent(path, by);
      else if (stat.kind === 'folder')
        this.#unreadable(path, by, `${basename(path)} is a folder`, 'Name a file in it.');
      else
        this.#unreadable(
          path,
          by,
          `${basename(path)} has ${Math.ceil(stat.bytes / 1024 / 1024)} MiB, the most is ${FILE_LIMIT / 1024 / 1024}`,
          'Is it the right file? Data belongs into a dataset.',
        );
    } catch (thrown) {
      this.unreadable(path, thrown, by);
    }
    return undefined;
  }

  /** A file the disk would not give. */
  unreadable(path: string, thrown: unknown, by?: Mention): void {
    const hint = StudioError.is(thrown) ? thrown.hint : undefined;
    this.#unreadable(
      path,
      by,
      `${basename(path)} cannot be read: ${thrown instanceof Error ? thrown.message : errorText(thrown)}`,
      hint ?? 'Look at its permissions.',
    );
  }

  /** The absolute path of a file that `parsed` names at `at`; undefined, and told, when there is none. */
  async locate(
    parsed: ParsedFile,
    at: Path,
    written: string,
    endings?: readonly string[],
  ): Promise<string | undefined> {
    if (written.includes('${')) {
      this.tell(parsed, at, {
        code: 'value',
        message: `\`${pathText(at)}\` is a path, and paths cannot hold \${…}`,
        hint: 'Write the path itself, relative to this file.',
      });
      return undefined;
    }
    const path = joinPath(dirname(parsed.file), written);
    if (endings !== undefined && !endings.some((ending) => path.toLowerCase().endsWith(ending))) {
      this.tell(parsed, at, {
        code: 'value',
        message: `\`${pathText(at)}\` must be a file that ends in ${endings.join(', ')}, not \`${written}\``,
        hint: 'Name a file of that kind.',
      });
      return undefined;
    }
    try {
      const stat = await this.files.stat(path);
      if (stat?.kind === 'file') return path;
      if (stat === undefined) await this.#absent(path, { parsed, at });
      else this.#unreadable(path, { parsed, at }, `${basename(path)} is a folder`, 'Name a file in it.');
    } catch (thrown) {
      this.unreadable(path, thrown, { parsed, at });
    }
    return undefined;
  }

  /** A prompt is a path when it ends in .md or .txt and is one line, else the text itself. */
  async prompt(parsed: ParsedFile, at: Path, written: string): Promise<PromptText | undefined> {
    if (written.includes('\n') || !/\.(md|txt)\s*$/i.test(written)) return { text: written };
    const path = await this.locate(parsed, at, written.trim());
    if (path === undefined) return undefined;
    const text = await this.text(path, { parsed, at });
    if (text === undefined) return undefined;
    if (text.trim() !== '') return { text, path };
    this.tell(parsed, at, { code: 'value', message: `${basename(path)} is empty`, hint: 'Write the prompt into it.' });
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
      `there is no file ${by === undefined ? path : `${relative(folder, path)} beside ${basename(by.parsed.file)}`}`,
      suggestion !== undefined
        ? `Did you mean \`${suggestion}\`?`
        : backslash
          ? 'Write paths with /.'
          : by === undefined
            ? 'Look at the path.'
            : 'Create it, or correct the path: it is relative to the file that names it.',
      fix,
    );
  }

  #unreadable(path: string, by: Mention | undefined, message: string, hint: string, fix?: Fix): void {
    if (by !== undefined)
      this.tell(by.parsed, by.at, { code: 'file', message, hint, ...(fix === undefined ? {} : { fixes: [fix] }) });
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
