/**
 * Checks names in YAML that reference tools and module exports, using file texts and facts about servers.
 */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import type { ParsedFile, Path } from '../../config/source/parse.ts';
import type { Problem } from '../../config/source/problem.ts';
import { closest } from '../../config/source/suggest.ts';
import { exportsIn } from '../names/exports.ts';
import { mcpServerRef, toolsOf } from '../workspace/tools.ts';
import type { Workspace } from '../workspace.ts';

/** Adds the additional files it reads to `dependencies`. */
export async function memberProblems(
  workspace: Workspace,
  path: string,
  dependencies: Set<string>,
): Promise<Problem[]> {
  const parsed = await workspace.parsed(path);
  if (parsed === undefined || !isJsonObject(parsed.value)) return [];
  switch (fileKind(path)) {
    case 'agent':
      return agentMembers(workspace, path, parsed, dependencies);
    case 'world':
      return exportProblems(workspace, parsed, ['module'], parsed.value['module'], 'open', ['module'], 'a world');
    case 'batch': {
      const scorer = parsed.value['scorer'];
      if (!isJsonObject(scorer) || scorer['kind'] !== 'module') return [];
      const name = scorer['export'] ?? 'score';
      return typeof name === 'string'
        ? exportProblems(
            workspace,
            parsed,
            ['scorer', 'module'],
            scorer['module'],
            name,
            parsed.has(['scorer', 'export']) ? ['scorer', 'export'] : ['scorer', 'module'],
            'the scorer',
          )
        : [];
    }
    case undefined:
      return [];
  }
}

async function agentMembers(
  workspace: Workspace,
  path: string,
  parsed: ParsedFile,
  dependencies: Set<string>,
): Promise<Problem[]> {
  const root = parsed.value;
  if (!isJsonObject(root)) return [];
  const problems: Problem[] = [];
  const entries = Array.isArray(root['tools']) ? root['tools'] : [];
  for (const [index, entry] of entries.entries()) {
    if (!isJsonObject(entry) || !Array.isArray(entry['tools'])) continue;
    const server = mcpServerRef(entry['mcp']);
    const serverTools =
      server === undefined ? undefined : workspace.facts.mcpTools(server, dirname(path), workspace.files.isSaved(path));
    if (serverTools === undefined) continue;
    const names = serverTools.map(({ name }) => name);
    for (const [position, name] of entry['tools'].entries()) {
      if (typeof name === 'string' && !names.includes(name))
        problems.push(
          unknownTool(parsed, ['tools', index, 'tools', position], `the server has no tool \`${name}\``, name, names),
        );
    }
  }
  const answer = root['answer'];
  const answerTool = isJsonObject(answer) ? answer['tool'] : undefined;
  if (typeof answerTool !== 'string' || entries.length === 0) return problems;
  const { tools, complete } = await toolsOf(workspace, path);
  for (const { place } of tools) if (place !== undefined) dependencies.add(place.path);
  const names = [...new Set(tools.map(({ name }) => name))];
  if (complete && !names.includes(answerTool) && !(await hasWorld(workspace, path))) {
    problems.push(
      unknownTool(
        parsed,
        ['answer', 'tool'],
        `this agent has no tool \`${answerTool}\`: no rollout would end with an answer`,
        answerTool,
        names,
      ),
    );
  }
  return problems;
}

/** Returns whether a batch provides the agent with tools of a world. */
async function hasWorld(workspace: Workspace, agent: string): Promise<boolean> {
  for (const { file } of await workspace.mentionsOf(agent)) {
    if (fileKind(file) === 'batch' && (await workspace.parsed(file))?.has(['world']) === true) return true;
  }
  return false;
}

function unknownTool(parsed: ParsedFile, at: Path, message: string, name: string, names: readonly string[]): Problem {
  const suggestion = closest(name, names);
  return parsed.problem(at, {
    code: 'unknown_tool',
    severity: 'warning',
    message,
    hint: suggestion === undefined ? `Available tools: ${names.join(', ')}.` : `Did you mean \`${suggestion}\`?`,
    ...(suggestion === undefined ? {} : { fixes: [{ do: 'replace', text: suggestion }] }),
  });
}

/** Checks that the module at `moduleAt` exports a name. Reports the problem at `at`. */
export async function exportProblems(
  workspace: Workspace,
  parsed: ParsedFile,
  moduleAt: Path,
  module: unknown,
  name: string,
  at: Path,
  of: string,
): Promise<Problem[]> {
  if (typeof module !== 'string' || !parsed.has(moduleAt)) return [];
  const text = await workspace.text(joinPath(dirname(parsed.file), module));
  const exported = text === undefined ? undefined : exportsIn(text);
  if (exported === undefined || exported.includes(name)) return [];
  const suggestion = parsed.has(['scorer', 'export']) ? closest(name, exported) : undefined;
  return [
    parsed.problem(at, {
      code: 'unknown_export',
      message: `${basename(module)} does not export \`${name}\`, which ${of} needs`,
      hint:
        suggestion !== undefined
          ? `Did you mean \`${suggestion}\`?`
          : exported.length === 0
            ? `Add \`export function ${name}\` to it.`
            : `It exports ${exported.join(', ')}.`,
      ...(suggestion === undefined ? {} : { fixes: [{ do: 'replace', text: suggestion }] }),
    }),
  ];
}
