/**
 * Where a name that a module exports stands in code, by the text alone (users' code is neither run nor built here).
 * Knows
 * declarations, uses, `export { … }`, `import { … }`, `import * as X`; leaves out what only has the same name: members
 * of
 * other things and keys of objects.
 */
import { withoutTexts } from '../../config/tools/toolSource.ts';
import { exportsIn } from './exports.ts';

/** A place in a text: offsets, the end behind it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Of the module that exports the name itself. `outside`: as others see it. */
export function namesAtHome(source: string, outside: string): Span[] {
  const code = withoutTexts(source);
  const renamed = new RegExp(`\\bexport\\s*\\{[^}]*?\\b([\\w$]+)\\s+as\\s+${escaped(outside)}\\b`, 'd').exec(code);
  // `export { inside as NAME }`: inside it is called otherwise, and goes on so.
  if (renamed !== null)
    return [{ start: renamed.index + renamed[0].length - outside.length, end: renamed.index + renamed[0].length }];
  return usesOf(code, outside);
}

/** Whether a module declares, imports or exports something of this name: it cannot have another one. */
export function isTopLevelName(source: string, name: string): boolean {
  const code = withoutTexts(source);
  const word = `${escaped(name)}(?![\\w$])`;
  return (
    exportsIn(source)?.includes(name) === true ||
    new RegExp(`^(?:export\\s+)?(?:async\\s+)?(?:const|let|var|class|function\\s*\\*?)\\s+${word}`, 'm').test(code) ||
    clausesOf(source, code).some(
      ({ kind, names }) => kind === 'import' && new RegExp(`(?<![\\w$])${word}(?!\\s+as\\b)`).test(names),
    )
  );
}

/** Of another module. `isHome`: whether what stands behind `from` is the module that exports the name. */
export function namesAbroad(source: string, outside: string, isHome: (specifier: string) => boolean): Span[] {
  const code = withoutTexts(source);
  const found: Span[] = [];
  for (const clause of clausesOf(source, code)) {
    if (!isHome(clause.specifier)) continue;
    const space = /^\s*\*\s*as\s+([\w$]+)/.exec(clause.names);
    if (space !== null && clause.kind === 'import') {
      found.push(...membersOf(code, space[1] ?? '', outside));
      continue;
    }
    for (const match of clause.names.matchAll(
      new RegExp(`(?<![\\w$])${escaped(outside)}(?![\\w$])(\\s+as\\s+([\\w$]+))?`, 'g'),
    )) {
      // `x as NAME` names another one.
      if (/\bas\s+$/.test(clause.names.slice(0, match.index))) continue;
      const start = clause.start + match.index;
      if (match[2] !== undefined || clause.kind === 'export') found.push({ start, end: start + outside.length });
      else found.push(...usesOf(code, outside)); // the clause is one of them
    }
  }
  return distinct(found);
}

/**
 * Whether a module exports under the same name what it has from another: `export { NAME } from …`, `export * from …`.
 */
export function passesOn(source: string, outside: string, isHome: (specifier: string) => boolean): boolean {
  const named = new RegExp(`(?<![\\w$])(?<!\\bas\\s+)${escaped(outside)}(?![\\w$])(?!\\s+as\\b)`);
  return clausesOf(source, withoutTexts(source)).some(
    ({ kind, names, specifier }) =>
      kind === 'export' && (/^\s*\*\s*$/.test(names) || named.test(names)) && isHome(specifier),
  );
}

/** What imports name: the text between the quotes, and where it begins. */
export function specifiersIn(source: string): { readonly text: string; readonly start: number }[] {
  return [...source.matchAll(/(?:\bfrom|^[ \t]*import|\bimport\()[ \t]*(['"])(\.{1,2}\/[^'"\n]+)\1/gm)].map(
    ({ 0: whole, 2: text = '', index }) => ({ text, start: index + whole.length - 1 - text.length }),
  );
}

interface Clause {
  readonly kind: 'import' | 'export';
  /** Between the word and `from`, and where that begins. */
  readonly names: string;
  readonly start: number;
  readonly specifier: string;
}

function clausesOf(source: string, code: string): Clause[] {
  return [...code.matchAll(/^[ \t]*(import|export)\b([^;'"`=]*?)\bfrom[ \t]*(['"])([^'"\n]*)\3/gm)].map((match) => {
    const [whole, kind = '', names = ''] = match;
    const start = match.index + whole.indexOf(kind) + kind.length;
    const end = match.index + whole.length - 1;
    // the pattern has these two
    return { kind: kind as Clause['kind'], names, start, specifier: source.slice(end - (match[4] ?? '').length, end) };
  });
}

/** What is named so and is no member of something else and no key. */
function usesOf(code: string, name: string): Span[] {
  return [...code.matchAll(new RegExp(`(?<![\\w$.])${escaped(name)}(?![\\w$])`, 'g'))].flatMap(({ index }) => {
    const end = index + name.length;
    const isKey = /[{,]\s*$/.test(code.slice(0, index)) && /^\s*:/.test(code.slice(end));
    return isKey ? [] : [{ start: index, end }];
  });
}

/** `space.name`. */
function membersOf(code: string, space: string, name: string): Span[] {
  return [
    ...code.matchAll(new RegExp(`(?<![\\w$.])${escaped(space)}\\s*\\??\\.\\s*${escaped(name)}(?![\\w$])`, 'g')),
  ].map(({ 0: whole, index }) => ({ start: index + whole.length - name.length, end: index + whole.length }));
}

function distinct(spans: readonly Span[]): Span[] {
  return [...new Map(spans.map((span) => [span.start, span])).values()].sort((a, b) => a.start - b.start);
}

/** As part of a pattern. */
export function escaped(name: string): string {
  return name.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}
