/** Collects the values of the environment variables that a submission refers to. */
import { hidingNote } from '../../common/redaction/hidable.ts';
import { envNamesIn, resolveEnv } from '../env.ts';
import { isEndpoint } from '../load/model.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { type Problem, problemsError } from '../source/problem.ts';
import { type TextAt, textsOf } from '../source/strings.ts';
import type { SubmitPorts } from '../submit.ts';

interface Environment {
  readonly names: string[];
  /** Names whose values need not be hidden. */
  readonly shown: string[];
  readonly secrets: Record<string, string>;
  /** Values that cannot be hidden, by the names of their variables. */
  readonly warnings: Problem[];
}

/**
 * Returns the environment variables that files refer to. Throws one StudioError `config` for all variables without a
 * value.
 */
export function collectEnvironment(
  files: readonly (ParsedFile | undefined)[],
  root: string,
  ports: Pick<SubmitPorts, 'env'>,
): Environment {
  const problems: Problem[] = [];
  const secrets: Record<string, string> = {};
  const open = new Set<string>();
  const hidden = new Set<string>();
  const sources = files.filter((parsed) => parsed !== undefined);
  for (const parsed of sources) {
    for (const { path, text } of textsOf(parsed.value)) {
      for (const name of envNamesIn(text)) {
        (isShown(path, text, name) ? open : hidden).add(name);
        const value = ports.env(name);
        if (value === undefined || value === '') {
          problems.push(
            parsed.problem(path, {
              code: 'env',
              variable: name,
              message: `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}`,
              hint: `Set ${name} where you submit, for example with \`export ${name}=…\`.`,
            }),
          );
        } else {
          secrets[name] = value;
        }
      }
    }
  }
  if (problems.length === 0) problems.push(...endpointProblems(sources, secrets));
  if (problems.length > 0) throw problemsError(problems, root);
  const names = Object.keys(secrets).sort();
  const shown = names.filter((name) => open.has(name) && !hidden.has(name));
  return { names, shown, secrets, warnings: visibleValues(sources, (name) => secrets[name]) };
}

/**
 * Returns a warning for each variable that may be secret, but whose value cannot be hidden (see `hidingNote`). Never
 * contains a value.
 */
export function visibleValues(files: readonly ParsedFile[], valueOf: (name: string) => string | undefined): Problem[] {
  const found = new Map<string, Problem>();
  for (const parsed of files) {
    for (const { path, text } of textsOf(parsed.value)) {
      for (const name of envNamesIn(text)) {
        const value = valueOf(name);
        const note = value === undefined || value === '' ? undefined : hidingNote(value);
        if (note === undefined || found.has(name) || isShown(path, text, name)) continue;
        found.set(
          name,
          parsed.problem(path, {
            code: 'env',
            severity: 'warning',
            variable: name,
            message: `the value of ${name} is ${note}`,
            hint: 'If it is secret, use a longer value with letters. Otherwise, nothing is wrong.',
          }),
        );
      }
    }
  }
  return [...found.values()];
}

/**
 * Endpoints and names of models are not secret, except what is filled into the user, path, or query of an endpoint's
 * URL.
 */
function isShown(path: Path, text: string, name: string): boolean {
  const key = modelKey(path);
  return key === 'name' || (key === 'endpoint' && isAddress(text, `\${env:${name}}`));
}

/** Returns the key of a model's section that contains a path. */
function modelKey(path: Path): string | number | undefined {
  const one = path.lastIndexOf('model');
  const named = path.lastIndexOf('models');
  return one === -1 && named === -1 ? undefined : path[one > named ? one + 1 : named + 2];
}

/** Returns whether every occurrence of a reference is the beginning of a URL, or part of its host and port. */
function isAddress(url: string, reference: string): boolean {
  const authority = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^/?#]*/i.exec(url)?.[0] ?? '';
  const user = authority.slice(0, authority.lastIndexOf('@') + 1);
  return !user.includes(reference) && !url.slice(authority.length).includes(reference);
}

/** Checks endpoints from environment variables, whose values are now known. */
function endpointProblems(sources: readonly ParsedFile[], secrets: Readonly<Record<string, string>>): Problem[] {
  const wrong = (parsed: ParsedFile, { path, text }: TextAt): Problem[] => {
    if (modelKey(path) !== 'endpoint' || envNamesIn(text).length === 0 || isEndpoint(resolveEnv(text, secrets)))
      return [];
    const names = envNamesIn(text).join(', ');
    return [
      parsed.problem(path, {
        code: 'env',
        message: `the value of ${names} does not result in a valid endpoint URL`,
        hint: 'For example, set it to http://localhost:8000/v1.',
      }),
    ];
  };
  return sources.flatMap((parsed) => textsOf(parsed.value).flatMap((text) => wrong(parsed, text)));
}
