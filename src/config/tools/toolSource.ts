/**
 * Finds the tools that a module exports from its source text alone, without running or building user code. Recognizes
 * `export const NAME = tool({` and `export { NAME }`; other exports are only found at run time.
 */
export interface ToolInSource {
  readonly name: string;
  /** Start of the definition, 1-based. */
  readonly line: number;
  readonly column: number;
  /** Its `description:`, if it is a plain string. */
  readonly description: string | undefined;
}

const DEFINITION = new RegExp(
  String.raw`^[ \t]*(export[ \t]+)?(?:const|let|var)[ \t]+([A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]+)?` +
    String.raw`=[ \t]*tool[ \t]*(?:<[^(]*>)?\(`,
  'dgm',
);
const EXPORTS = /^[ \t]*export[ \t]*\{([^}]*)\}(?![ \t]*from)/gm;
const DESCRIPTION = /\bdescription[ \t]*:[ \t]*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.)*)`)/;

export function toolsIn(source: string): ToolInSource[] {
  const text = withoutComments(source);
  const exported = new Map<string, string>();
  for (const [, names = ''] of text.matchAll(EXPORTS)) {
    for (const item of names.split(',')) {
      const [inside = '', outside] = item.trim().split(/\s+as\s+/);
      if (inside !== '') exported.set(inside, outside ?? inside);
    }
  }
  const found = [...text.matchAll(DEFINITION)];
  return found.flatMap((match, index) => {
    const [whole, isExported, variable = ''] = match;
    const name = isExported === undefined ? exported.get(variable) : variable;
    if (name === undefined) return [];
    const at = match.indices?.[2]?.[0] ?? match.index;
    const before = text.slice(0, at);
    // Strings are unchanged; only comments were removed.
    const body = text.slice(match.index + whole.length, found[index + 1]?.index ?? text.length);
    const descriptionMatch = DESCRIPTION.exec(body);
    return [
      {
        name,
        line: before.split('\n').length,
        column: at - before.lastIndexOf('\n'),
        description: (descriptionMatch?.[1] ?? descriptionMatch?.[2] ?? descriptionMatch?.[3])?.replaceAll(
          /\\(.)/g,
          '$1',
        ),
      },
    ];
  });
}

const STRING_OR_COMMENT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** Replaces comments with spaces, so that positions stay the same. */
function withoutComments(source: string): string {
  return source.replaceAll(STRING_OR_COMMENT, (piece) =>
    piece.startsWith('/') ? piece.replaceAll(/[^\n]/g, ' ') : piece,
  );
}

/** Replaces comments and the contents of strings with spaces, so that only code is left, at the same positions. */
export function withoutTexts(source: string): string {
  return source.replaceAll(STRING_OR_COMMENT, (piece) =>
    piece.startsWith('/')
      ? piece.replaceAll(/[^\n]/g, ' ')
      : `${piece.charAt(0)}${piece.slice(1, -1).replaceAll(/[^\n]/g, ' ')}${piece.slice(-1)}`,
  );
}
