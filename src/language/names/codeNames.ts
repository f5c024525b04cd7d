/**
 * Finds the occurrences of an exported name in code by its text, because users' code is not run or built here. Handles
 * declarations, uses, `export { … }`, `import { … }`, and `import * as X`. Skips unrelated members and object keys
 * with the same name.
 */
import { withoutTexts } from '../../config/tools/toolSource.ts';
import { exportsIn } from './exports.ts';

/** A range of offsets in a text, end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds an exported name in its own module. */
export function namesInModule(source: string, exportedName: string): Span[] {
  const code = withoutTexts(source);
  const alias = new RegExp(`\\bexport\\s*\\{[^}]*?\\b([\\w$]+)\\s+as\\s+${escapePattern(exportedName)}\\b`, 'd').exec(
    code,
  );
  // `export { other as NAME }`: the local name is different and does not change.
  if (alias !== null)
    return [{ start: alias.index + alias[0].length - exportedName.length, end: alias.index + alias[0].length }];
  return usesOf(code, exportedName);
}

/** Returns whether a module already declares, imports, or exports this name. */
export function isTopLevelName(source: string, name: string): boolean {
  const code = withoutTexts(source);
  const word = `${escapePattern(name)}(?![\\w$])`;
  return (
    exportsIn(source)?.includes(name) === true ||
    new RegExp(`^(?:export\\s+)?(?:async\\s+)?(?:const|let|var|class|function\\s*\\*?)\\s+${word}`, 'm').test(code) ||
    clausesOf(source, code).some(
      ({ kind, names }) => kind === 'import' && new RegExp(`(?<![\\w$])${word}(?!\\s+as\\b)`).test(names),
    )
  );
}

/** Finds an exported name in another module. `isExporter` returns whether a specifier is the exporting module. */
export function namesInImporter(
  source: string,
  exportedName: string,
  isExporter: (specifier: string) => boolean,
): Span[] {
  const code = withoutTexts(source);
  const found: Span[] = [];
  for (const clause of clausesOf(source, code)) {
    if (!isExporter(clause.specifier)) continue;
    const space = /^\s*\*\s*as\s+([\w$]+)/.exec(clause.names);
    if (space !== null && clause.kind === 'import') {
      found.push(...membersOf(code, space[1] ?? '', exportedName));
      continue;
    }
    for (const match of clause.names.matchAll(
      new RegExp(`(?<![\\w$])${escapePattern(exportedName)}(?![\\w$])(\\s+as\\s+([\\w$]+))?`, 'g'),
    )) {
      // `x as NAME` is a different name.
      if (/\bas\s+$/.test(clause.names.slice(0, match.index))) continue;
      const start = clause.start + match.index;
      if (match[2] !== undefined || clause.kind === 'export') found.push({ start, end: start + exportedName.length });
      else found.push(...usesOf(code, exportedName)); // includes the clause
    }
  }
  return distinct(found);
}

/**
 * Returns whether a module re-exports the name: `export { NAME } from …` or `export * from …`.
 */
export function reExports(source: string, exportedName: string, isExporter: (specifier: string) => boolean): boolean {
  const named = new RegExp(`(?<![\\w$])(?<!\\bas\\s+)${escapePattern(exportedName)}(?![\\w$])(?!\\s+as\\b)`);
  return clausesOf(source, withoutTexts(source)).some(
    ({ kind, names, specifier }) =>
      kind === 'export' && (/^\s*\*\s*$/.test(names) || named.test(names)) && isExporter(specifier),
  );
}

/** Returns the import specifiers with their offsets. */
export function specifiersIn(source: string): { readonly text: string; readonly start: number }[] {
  return [...source.matchAll(/(?:\bfrom|^[ \t]*import|\bimport\()[ \t]*(['"])(\.{1,2}\/[^'"\n]+)\1/gm)].map(
    ({ 0: whole, 2: text = '', index }) => ({ text, start: index + whole.length - 1 - text.length }),
  );
}

interface Clause {
  readonly kind: 'import' | 'export';
  /** Text between the keyword and `from`, with its offset. */
  readonly names: string;
  readonly start: number;
  readonly specifier: string;
}

function clausesOf(source: string, code: string): Clause[] {
  return [...code.matchAll(/^[ \t]*(import|export)\b([^;'"`=]*?)\bfrom[ \t]*(['"])([^'"\n]*)\3/gm)].map((match) => {
    const [whole, kind = '', names = ''] = match;
    const start = match.index + whole.indexOf(kind) + kind.length;
    const end = match.index + whole.length - 1;
    // groups of the pattern
    return { kind: kind as Clause['kind'], names, start, specifier: source.slice(end - (match[4] ?? '').length, end) };
  });
}

/** Finds uses of a name that are not members or keys. */
function usesOf(code: string, name: string): Span[] {
  return [...code.matchAll(new RegExp(`(?<![\\w$.])${escapePattern(name)}(?![\\w$])`, 'g'))].flatMap(({ index }) => {
    const end = index + name.length;
    const isKey = /[{,]\s*$/.test(code.slice(0, index)) && /^\s*:/.test(code.slice(end));
    return isKey ? [] : [{ start: index, end }];
  });
}

/** Finds uses as `space.name`. */
function membersOf(code: string, space: string, name: string): Span[] {
  return [
    ...code.matchAll(
      new RegExp(`(?<![\\w$.])${escapePattern(space)}\\s*\\??\\.\\s*${escapePattern(name)}(?![\\w$])`, 'g'),
    ),
  ].map(({ 0: whole, index }) => ({ start: index + whole.length - name.length, end: index + whole.length }));
}

function distinct(spans: readonly Span[]): Span[] {
  return [...new Map(spans.map((span) => [span.start, span])).values()].sort((a, b) => a.start - b.start);
}

/** Escapes a name for a pattern. */
export function escapePattern(name: string): string {
  return name.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}
