/** Checks every string in a file for literal secrets and misspelled `${…}`. */
import { strayPlaceholders } from '../env.ts';
import type { ParsedFile, Path } from './parse.ts';
import type { Problem } from './problem.ts';
import { looksSecret } from './secrets.ts';
import { pathText } from './validate.ts';

export interface TextAt {
  readonly path: Path;
  readonly text: string;
}

/** Returns all strings in a value, except prompts and rubrics. */
export function textsOf(value: unknown, path: Path = []): TextAt[] {
  const key = path.at(-1);
  if (key === 'prompt' || key === 'rubric') return [];
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => textsOf(item, [...path, index]));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]: [string, unknown]) => textsOf(member, [...path, name]));
  return [];
}

/**
 * List items without problems. In a long file, unchanged items keep their identity between keystrokes.
 */
const VALID_ITEMS = new WeakSet<object>();

/** Returns the problems of all strings. Messages never contain a secret. */
export function textProblems(parsed: ParsedFile): Problem[] {
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return problemsIn(parsed, value, []);
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    if (!Array.isArray(member)) return problemsIn(parsed, { [key]: member }, []);
    return member.flatMap((item: unknown, index) => {
      const group = typeof item === 'object' && item !== null ? item : undefined;
      if (group !== undefined && VALID_ITEMS.has(group)) return [];
      const problems = problemsIn(parsed, item, [key, index]);
      if (group !== undefined && problems.length === 0) VALID_ITEMS.add(group);
      return problems;
    });
  });
}

function problemsIn(parsed: ParsedFile, value: unknown, at: Path): Problem[] {
  return textsOf(value, at).flatMap(({ path, text }) => {
    const problems: Problem[] = [];
    const hidden = path.some(
      (step) => step === 'api_key' || step === 'headers' || step === 'env' || step === 'secrets',
    );
    if (looksSecret(text, hidden)) {
      const variable = String(path.at(-1))
        .toUpperCase()
        .replaceAll(/[^A-Z0-9]+/g, '_');
      const name = /^[A-Z_]/.test(variable) ? variable : 'API_KEY';
      const kept = /^(Bearer|Basic|Token)\s+/i.exec(text)?.[0] ?? '';
      problems.push(
        parsed.problem(path, {
          code: 'secret',
          fixes: [{ do: 'replace', text: `"${kept}\${env:${name}}"` }],
          message: `\`${pathText(path)}\` looks like a secret; files may only contain secrets as \${env:…}`,
          hint:
            `Move it to an environment variable and write "\${env:${name}}" here. Since it was stored in a file, ` +
            'revoke it at its provider.',
        }),
      );
    }
    if (path[0] === 'program') return problems; // `${gateway.url}` is valid there
    for (const stray of strayPlaceholders(text)) {
      const name = /[A-Za-z_]\w*/.exec(stray.replace(/^\$\{(env[:.]?)?/, ''))?.[0] ?? 'NAME';
      problems.push(
        parsed.problem(path, {
          code: 'env',
          message: `\`${stray}\` is not replaced`,
          hint: `For an environment variable, write \${env:${name}}.`,
          severity: 'warning',
          fixes: [{ do: 'replace', text: JSON.stringify(text.replace(stray, () => `\${env:${name}}`)) }],
        }),
      );
    }
    return problems;
  });
}
