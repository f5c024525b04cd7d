/** Finds references in config files: other files, tools, columns, and variables. */
import { type FileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { COLUMNS } from '../../config/dataset/columns.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { isPromptPath } from '../../config/prompt.ts';
import { NESTED_WORLDS } from '../../config/schema/nestedWorld.ts';
import { SIMULATION_PARTS } from '../../config/schema/simulatedWorld.ts';
import type { ParsedFile, Path } from '../../config/source/parse.ts';
import type { Range } from '../../config/source/problem.ts';
import { Lines } from './text.ts';
import { valueAt } from './valueAt.ts';

/** Reference kinds that are files. */
export type FileRole = 'agent' | 'world' | 'prompt' | 'module' | 'dataset';
export type ReferenceKind = FileRole | 'builtin' | 'tool' | 'column' | 'placeholder' | 'env' | 'export';

export interface Reference {
  readonly kind: ReferenceKind;
  /** Range of the reference, including quotes. */
  readonly range: Range;
  /** Path of keys in the referencing file; empty in a prompt file. */
  readonly path: Path;
  /** As written, e.g. `tools/loans.ts`, `submit`, `meta.city`, `API_KEY`. */
  readonly text: string;
  /** Absolute path of the referenced file, or of the module for `export`. */
  readonly file?: string;
}

const PLACEHOLDER = /\{\{\s*task\.([^{}]*?)\s*\}\}/g;
const VARIABLE = /\$\{env:([A-Za-z_]\w*)\}/g;

export function referencesIn(parsed: ParsedFile, kind: FileKind): Reference[] {
  const root = parsed.value;
  if (!isJsonObject(root)) return [];
  const lines = new Lines(parsed.text);
  const found: Reference[] = [];
  const valueOf = (path: Path): unknown => valueAt(root, path);
  const name = (referenceKind: ReferenceKind, path: Path, file?: string): void => {
    const text = valueOf(path);
    if (typeof text !== 'string' || text === '') return;
    found.push({
      kind: referenceKind,
      range: parsed.valueRange(path),
      path,
      text,
      ...(file === undefined ? {} : { file }),
    });
  };
  const target = (role: FileRole, path: Path): void => {
    const text = valueOf(path);
    if (typeof text === 'string' && text !== '' && !text.includes('${'))
      name(role, path, joinPath(dirname(parsed.file), text.trim()));
  };
  const prompt = (path: Path): void => {
    const text = valueOf(path);
    if (typeof text !== 'string') return;
    if (isPromptPath(text)) {
      target('prompt', path);
      return;
    }
    const range = parsed.wholeRange(path);
    if (range === undefined) return;
    const start = lines.offsetAt({ line: range.line - 1, character: range.column - 1 });
    found.push(...placeholdersIn(lines, lines.slice(range), start, path));
  };
  const each = (path: Path, act: (item: unknown, at: Path) => void): void => {
    const list = valueOf(path);
    if (Array.isArray(list)) list.forEach((item: unknown, index) => act(item, [...path, index]));
  };

  const toolEntries = (list: Path): void =>
    each(list, (entry, at) => {
      if (!isJsonObject(entry)) return;
      target('module', [...at, 'module']);
      each([...at, 'builtin'], (_, item) => name('builtin', item));
      each([...at, 'tools'], (_, item) => name('tool', item));
    });

  if (kind === 'agent') {
    prompt(['prompt']);
    toolEntries(['tools']);
    name('tool', ['answer', 'tool']);
    each(['team', 'members'], (member, at) => {
      if (typeof member === 'string') target('agent', at);
      else if (isJsonObject(member) && typeof member['agent'] === 'string') target('agent', [...at, 'agent']);
    });
  } else if (kind === 'world') {
    target('module', ['module']);
    for (const key of NESTED_WORLDS) target('world', [key, 'world']);
    prompt(['user', 'prompt']);
    for (const part of SIMULATION_PARTS) prompt([part]);
    toolEntries(['tools']);
    toolEntries(['real', 'tools']);
    each(['route'], (_, at) => {
      each([...at, 'tools'], (pattern, item) => {
        if (typeof pattern === 'string' && !pattern.includes('*')) name('tool', item);
      });
    });
    each(['perturb'], (rule, at) => {
      target('module', [...at, 'module']);
      const module = isJsonObject(rule) ? rule['module'] : undefined;
      if (typeof module === 'string') name('export', [...at, 'export'], joinPath(dirname(parsed.file), module));
    });
  } else {
    target('agent', ['agent']);
    target('world', ['world']);
    target('dataset', ['dataset', 'file']);
    for (const column of COLUMNS) name('column', ['dataset', column]);
    target('module', ['scorer', 'module']);
    const module = valueOf(['scorer', 'module']);
    if (typeof module === 'string') name('export', ['scorer', 'export'], joinPath(dirname(parsed.file), module));
    prompt(['scorer', 'rubric']);
    each(['mix'], (_, at) => prompt([...at, 'prompt']));
  }
  for (const match of parsed.text.matchAll(VARIABLE)) {
    const range = lines.range(match.index, match[0].length);
    found.push({ kind: 'env', range, path: parsed.at(range.line, range.column)?.path ?? [], text: match[1] ?? '' });
  }
  return found;
}

/** Finds the placeholders of a prompt file or an inline prompt. */
export function placeholdersIn(lines: Lines, text: string, start = 0, path: Path = []): Reference[] {
  return [...text.matchAll(PLACEHOLDER)].map((match) => ({
    kind: 'placeholder',
    range: lines.range(start + match.index, match[0].length),
    path,
    text: match[1] ?? '',
  }));
}
