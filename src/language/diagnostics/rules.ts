/**
 * Checks the rules, the shadow, and the routes of a world against what is known of its rollouts: names of tools, and
 * functions of modules.
 */
import { StudioError } from '../../common/errors.ts';
import { isJsonObject } from '../../common/json.ts';
import { rangeOfPart } from '../../config/load/perturb.ts';
import type { ParsedFile, Path } from '../../config/source/parse.ts';
import type { Problem } from '../../config/source/problem.ts';
import { closest } from '../../config/source/suggest.ts';
import { routableTools, unknownRoutes } from '../../config/tools/routes.ts';
import { compileCondition, type Query } from '../../trace/query.ts';
import { rolloutTools, routedTools } from '../workspace/rolloutTools.ts';
import type { Workspace } from '../workspace.ts';
import { exportProblems } from './members.ts';

/** Adds the additional files it reads to `dependencies`. */
export async function ruleProblems(
  workspace: Workspace,
  parsed: ParsedFile,
  dependencies: Set<string>,
): Promise<Problem[]> {
  const root = isJsonObject(parsed.value) ? parsed.value : {};
  const rules = Array.isArray(root['perturb']) ? root['perturb'] : [];
  const problems = await routeProblems(workspace, parsed, root['route'], dependencies);
  if (rules.length === 0 && root['shadow'] === undefined) return problems;
  const { names, complete } = await rolloutTools(workspace, parsed.file, dependencies);
  const addUnknown = (at: Path, condition: unknown, effect: string): void => {
    if (typeof condition === 'string' && complete) problems.push(...unknownTools(parsed, at, condition, names, effect));
  };
  for (const [index, rule] of rules.entries()) {
    if (!isJsonObject(rule)) continue;
    const at: Path = ['perturb', index];
    for (const key of ['when', 'check'] as const) addUnknown([...at, key], rule[key], 'the rule would never match');
    const { export: exported } = rule;
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
  const { shadow } = root;
  if (isJsonObject(shadow)) addUnknown(['shadow', 'when'], shadow['when'], 'nothing would be predicted');
  return problems;
}

/** Checks the names in `route` against what servers say, where the check of the file does not know all tools. */
async function routeProblems(
  workspace: Workspace,
  parsed: ParsedFile,
  routes: unknown,
  dependencies: Set<string>,
): Promise<Problem[]> {
  if (!Array.isArray(routes)) return [];
  const { names, complete } = await routedTools(workspace, parsed.file, dependencies);
  if (!complete) return [];
  const known = await routableTools(parsed.file, parsed.text, (file) => workspace.text(file));
  return known === undefined ? unknownRoutes(parsed, routes, { names, certain: false }) : [];
}

function unknownTools(parsed: ParsedFile, at: Path, when: string, names: readonly string[], effect: string): Problem[] {
  return (conditionOf(when)?.toolNames ?? []).flatMap(({ text, column, length }) => {
    if (names.includes(text)) return [];
    const suggestion = closest(text, names);
    const part = rangeOfPart(parsed, at, when, column, length);
    return [
      {
        ...parsed.problem(at, {
          code: 'unknown_tool',
          severity: 'warning',
          message: `no agent in this world has a tool \`${text}\`: ${effect}`,
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
