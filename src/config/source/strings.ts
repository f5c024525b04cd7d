/** Checks of every text in a file: secrets that must not stand there, `${…}` that is misspelt. */
import { strayPlaceholders } from '../env.ts';
import type { ParsedFile, Path } from './parse.ts';
import type { Problem } from './problem.ts';
import { looksSecret } from './secrets.ts';
import { pathText } from './validate.ts';

export interface TextAt {
  readonly path: Path;
  readonly text: string;
}

/** All texts of a value, but those of prompts and rubrics. */
export function textsOf(value: unknown, path: Path = []): TextAt[] {
  const key = path.at(-1);
  if (key === 'prompt' || key === 'rubric') return [];
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => textsOf(item, [...path, index]));
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([name, member]: [string, unknown]) => textsOf(member, [...path, name]));
  return [];
}

/** The text of a secret never becomes part of a message. */
export function textProblems(parsed: ParsedFile): Problem[] {
  return textsOf(parsed.value).flatMap(({ path, text }) => {
    const problems: Problem[] = [];
    const hidden = path.some((step) => step === 'api_key' || step === 'headers' || step === 'env');
    if (looksSecret(text, hidden)) {
      const variable = String(path.at(-1)).toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
      problems.push(parsed.problem(path, {
        code: 'secret', message: `\`${pathText(path)}\` holds what looks like a secret; secrets stand in files only by \${env:…}`,
        mend: `Put it into an environment variable and write "\${env:${/^[A-Z_]/.test(variable) ? variable : 'API_KEY'}}" here; as it was in a file, change it at its service.`,
      }));
    }
    if (path[0] === 'program') return problems; // there `${gateway.url}` has a meaning
    for (const stray of strayPlaceholders(text)) {
      const name = /[A-Za-z_]\w*/.exec(stray.replace(/^\$\{(env[:.]?)?/, ''))?.[0] ?? 'NAME';
      problems.push(parsed.problem(path, { code: 'env', message: `\`${stray}\` is not replaced by anything`, mend: `Write \${env:${name}} for an environment variable.`, severity: 'warning' }));
    }
    return problems;
  });
}
