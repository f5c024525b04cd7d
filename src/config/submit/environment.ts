/** Collects the values of the environment variables that a submission refers to. */
import { envNamesIn, resolveEnv } from '../env.ts';
import { isEndpoint } from '../load/model.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { type Problem, problemsError } from '../source/problem.ts';
import { type TextAt, textsOf } from '../source/strings.ts';
import type { SubmitPorts } from '../submit.ts';

/**
 * Returns the environment variables that files refer to. Throws one StudioError `config` for all variables without a
 * value.
 */
export function collectEnvironment(
  files: readonly (ParsedFile | undefined)[],
  root: string,
  ports: Pick<SubmitPorts, 'env'>,
): { names: string[]; shown: string[]; secrets: Record<string, string> } {
  const problems: Problem[] = [];
  const secrets: Record<string, string> = {};
  const open = new Set<string>();
  const hidden = new Set<string>();
  const sources = files.filter((parsed) => parsed !== undefined);
  for (const parsed of sources) {
    for (const { path, text } of textsOf(parsed.value)) {
      for (const name of envNamesIn(text)) {
        (isShown(path) ? open : hidden).add(name);
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
  return { names, shown: names.filter((name) => open.has(name) && !hidden.has(name)), secrets };
}

/** Endpoints and names of models are not secret. */
function isShown(path: Path): boolean {
  const at = path.lastIndexOf('model');
  const key = at === -1 ? undefined : path[at + 1];
  return key === 'endpoint' || key === 'name';
}

/** Checks endpoints from environment variables, whose values are now known. */
function endpointProblems(sources: readonly ParsedFile[], secrets: Readonly<Record<string, string>>): Problem[] {
  const wrong = (parsed: ParsedFile, { path, text }: TextAt): Problem[] => {
    const at = path.lastIndexOf('model');
    if (
      at === -1 ||
      path[at + 1] !== 'endpoint' ||
      envNamesIn(text).length === 0 ||
      isEndpoint(resolveEnv(text, secrets))
    )
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
