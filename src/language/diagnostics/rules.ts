/** Checks the rules of a world against what is known of its rollouts: names of tools, and functions of modules. */
import { StudioError } from '../../common/errors.ts';
import { isJsonObject } from '../../common/json.ts';
import { rangeOfPart } from '../../config/load/perturb.ts';
import type { ParsedFile, Path } from '../../config/source/parse.ts';
import type { Problem } from '../../config/source/problem.ts';
import { closest } from '../../config/source/suggest.ts';
import { compileCondition, type Query } from '../../trace/query.ts';
import { rolloutTools } from '../workspace/rolloutTools.ts';
import type { Workspace } from '../workspace.ts';
import { exportProblems } from './members.ts';

/** Adds the additional files it reads to `dependencies`. */
export async function ruleProblems(
  workspace: Workspace,
  parsed: ParsedFile,
  dependencies: Set<string>,
): Promise<Problem[]> {
  const rules = isJsonObject(parsed.value) ? parsed.value['perturb'] : undefined;
  if (!Array.isArray(rules)) return [];
  const { names, complete } = await rolloutTools(workspace, parsed.file, dependencies);
  const problems: Problem[] = [];
  for (const [index, rule] of rules.entries()) {
    if (!isJsonObject(rule)) continue;
    const at: Path = ['perturb', index];
    const { export: exported } = rule;
    for (const key of ['when', 'check'] as const) {
      const condition = rule[key];
      if (typeof condition === 'string' && complete)
        problems.push(...unknownTools(parsed, [...at, key], condition, names));
    }
    if (typeof exported === 'string')
      problems.push(
        ...(await exportProblems(
          workspace,
          parsed,
          [...at, 'module'],
          rule['module'],
          exported,
          [...at, 'export'],
          'the rule',
        )),
      );
  }
  return problems;
}

function unknownTools(parsed: ParsedFile, at: Path, when: string, names: readonly string[]): Problem[] {
  return (conditionOf(when)?.toolNames ?? []).flatMap(({ text, column, length }) => {
    if (names.includes(text)) return [];
    const suggestion = closest(text, names);
    const part = rangeOfPart(parsed, at, when, column, length);
    return [
      {
        ...parsed.problem(at, {
          code: 'unknown_tool',
          severity: 'warning',
          message: `no agent in this world has a tool \`${text}\`: the rule would never match`,
          hint: suggestion === undefined ? `Available tools: ${names.join(', ')}.` : `Did you mean \`${suggestion}\`?`,
          ...(suggestion === undefined || part.line === undefined
            ? {}
            : {
                fixes: [{ do: 'replace', text: when.slice(column - 1, column - 1 + length).replace(text, suggestion) }],
              }),
        }),
        ...part,
      },
    ];
  });
}

/** Returns undefined for an invalid condition, which the check of the file reports. */
function conditionOf(when: string): Query | undefined {
  try {
    return compileCondition(when);
  } catch (error) {
    if (StudioError.is(error, 'usage')) return undefined;
    throw error;
  }
}
