/**
 * The tools a module exports, by its text alone: nothing of a user's is run or built to draw a tree. Knows
 * `export const NAME = tool({` and `export { NAME }`; what is exported in other ways is found when it runs.
 */
export interface ToolInSource {
  readonly name: string;
  /** Where its definition begins, 1-based. */
  readonly line: number;
  readonly column: number;
  /** Its `description:`, where it is one plain text. */
  readonly description: string | undefined;
}

const DEFINITION =
  /^[ \t]*(export[ \t]+)?(?:const|let|var)[ \t]+([A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]+)?=[ \t]*tool[ \t]*(?:<[^(]*>)?\(/dgm;
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
    // Strings keep their text; only comments were taken out.
    const body = text.slice(match.index + whole.length, found[index + 1]?.index ?? text.length);
    const said = DESCRIPTION.exec(body);
    return [
      {
        name,
        line: before.split('\n').length,
        column: at - before.lastIndexOf('\n'),
        description: (said?.[1] ?? said?.[2] ?? said?.[3])?.replaceAll(/\\(.)/g, '$1'),
      },
    ];
  });
}

const STRING_OR_COMMENT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** Comments as blanks, so that places stay what they are. */
function withoutComments(source: string): string {
  return source.replaceAll(STRING_OR_COMMENT, (piece) =>
    piece.startsWith('/') ? piece.replaceAll(/[^\n]/g, ' ') : piece,
  );
}

/** Comments and the insides of strings as blanks: what is left is names, signs and numbers, at their places. */
export function withoutTexts(source: string): string {
  return source.replaceAll(STRING_OR_COMMENT, (piece) =>
    piece.startsWith('/')
      ? piece.replaceAll(/[^\n]/g, ' ')
      : `${piece.charAt(0)}${piece.slice(1, -1).replaceAll(/[^\n]/g, ' ')}${piece.slice(-1)}`,
  );
}
