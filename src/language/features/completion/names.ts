/** Completes names that are not in the schema: files, tools, models, and columns. */
import { CompletionItemKind } from 'vscode-languageserver-types';
import { z } from 'zod';
import type { FileKind } from '../../../common/fileKinds.ts';
import { isJsonObject } from '../../../common/json.ts';
import { COLUMNS } from '../../../config/dataset/columns.ts';
import { Reading } from '../../../config/load/reading.ts';
import { readScenarios } from '../../../config/load/scenarios.ts';
import { dirname, joinPath } from '../../../config/paths.ts';
import { WORLD_FORMATS } from '../../../config/schema/codeWorld.ts';
import { NESTED_WORLDS } from '../../../config/schema/nestedWorld.ts';
import { SIMULATION_PARTS } from '../../../config/schema/simulatedWorld.ts';
import type { ParsedFile } from '../../../config/source/parse.ts';
import { endpointRefs } from '../../diagnostics/served.ts';
import { exportsIn } from '../../names/exports.ts';
import { datasetOf } from '../../workspace/columns.ts';
import type { Cursor } from '../../workspace/cursor.ts';
import { queuesFor } from '../../workspace/queues.ts';
import type { FileRole } from '../../workspace/references.ts';
import { rolloutTools, routedTools } from '../../workspace/rolloutTools.ts';
import { mcpServerRef, toolsOf } from '../../workspace/tools.ts';
import { valueAt } from '../../workspace/valueAt.ts';
import type { Workspace } from '../../workspace.ts';
import { limitsText } from '../hover/queueText.ts';
import { pathSuggestions, worldFolderSuggestions } from './paths.ts';

const publishedWorlds = z.object({ format: z.enum(WORLD_FORMATS), from: z.string() });

export interface Suggestion {
  readonly name: string;
  readonly kind: CompletionItemKind;
  readonly detail?: string;
  readonly documentation?: string;
}

/** Keys that reference files, as paths without list indexes. */
const FILES: Readonly<Record<FileKind, Readonly<Record<string, FileRole>>>> = {
  agent: { prompt: 'prompt', 'tools.module': 'module', 'team.members': 'agent', 'team.members.agent': 'agent' },
  world: {
    module: 'module',
    'real.tools.module': 'module',
    'user.prompt': 'prompt',
    'perturb.module': 'module',
    'tools.module': 'module',
    ...Object.fromEntries(SIMULATION_PARTS.map((part) => [part, 'prompt' as const])),
    ...Object.fromEntries(NESTED_WORLDS.map((key) => [`${key}.world`, 'world' as const])),
  },
  batch: {
    agent: 'agent',
    world: 'world',
    'dataset.file': 'dataset',
    'scorer.module': 'module',
    'scorer.rubric': 'prompt',
    'mix.prompt': 'prompt',
  },
};

export async function nameSuggestions(
  workspace: Workspace,
  path: string,
  kind: FileKind,
  cursor: Cursor,
): Promise<Suggestion[]> {
  const place = cursor.path.filter((step) => typeof step === 'string').join('.');
  // The list itself is not one of its items.
  if (cursor.on === 'key' && typeof cursor.path.at(-1) !== 'number') return [];
  if (kind === 'world' && place === 'from') {
    const world = (await workspace.parsed(path))?.value;
    return isJsonObject(world) && world['kind'] === 'recorded'
      ? jsonSuggestions(workspace, path, cursor.typed)
      : worldFolderSuggestions(workspace, path);
  }
  if (kind === 'world' && place === 'tools.file') return jsonSuggestions(workspace, path, cursor.typed);
  const role = FILES[kind][place];
  if (role !== undefined) {
    const files = await pathSuggestions(workspace, path, role, cursor.typed);
    return role === 'dataset' ? [...files, ...(await worldFolderSuggestions(workspace, path))] : files;
  }
  const parsed = await workspace.parsed(path);
  const root = parsed?.value;
  if (kind === 'world' && place === 'scenario') return scenarioNames(workspace, parsed, root);
  if (kind === 'batch' && place === 'dataset.scenarios') {
    const dataset = valueAt(root, ['dataset']);
    return scenarioNames(workspace, parsed, isJsonObject(dataset) ? { ...dataset, from: dataset['file'] } : undefined);
  }
  if (/(^|\.)model\.name$/.test(place) || (kind === 'agent' && /^tools\.(vision|audio)\.model$/.test(place)))
    return modelNames(workspace, path, valueAt(root, cursor.path.slice(0, -1)));
  if (kind === 'batch' && place === 'queue')
    return (queuesFor(workspace, root)?.queues ?? []).map((queue) => ({
      name: queue.name,
      kind: CompletionItemKind.Value,
      detail: limitsText(queue),
    }));
  if (kind === 'agent' && place === 'answer.tool') {
    return (await toolsOf(workspace, path)).tools.map(({ name, description }) => ({
      name,
      kind: CompletionItemKind.Function,
      ...(description === undefined ? {} : { documentation: description }),
    }));
  }
  if ((kind !== 'batch' && place === 'tools.tools') || (kind === 'world' && place === 'real.tools.tools')) {
    const entry = cursor.path.slice(0, place.startsWith('real') ? 3 : 2);
    const server = mcpServerRef(valueAt(root, [...entry, 'mcp']));
    const serverTools =
      server === undefined ? undefined : workspace.facts.mcpTools(server, dirname(path), workspace.files.isSaved(path));
    const chosen = valueAt(root, [...entry, 'tools']);
    const others = new Set(Array.isArray(chosen) ? chosen.filter((_, index) => index !== cursor.path.at(-1)) : []);
    return (serverTools ?? [])
      .filter(({ name }) => !others.has(name))
      .map(({ name, description }) => ({
        name,
        kind: CompletionItemKind.Function,
        ...(description === undefined ? {} : { documentation: description }),
      }));
  }
  if (kind === 'batch' && COLUMNS.some((column) => place === `dataset.${column}`)) {
    return ((await datasetOf(workspace, path))?.columns ?? []).map((name) => ({
      name,
      kind: CompletionItemKind.Field,
    }));
  }
  if (kind === 'world' && ['perturb.when', 'perturb.check', 'shadow.when'].includes(place))
    return conditions(workspace, path);
  if (kind === 'world' && place === 'route.tools') return routableTools(workspace, path, valueAt(root, ['route']));
  if ((kind === 'batch' && place === 'scorer.export') || (kind === 'world' && place === 'perturb.export')) {
    const module = valueAt(root, [...cursor.path.slice(0, -1), 'module']);
    const text = typeof module === 'string' ? await workspace.text(joinPath(dirname(path), module)) : undefined;
    return (text === undefined ? [] : (exportsIn(text) ?? [])).map((name) => ({
      name,
      kind: CompletionItemKind.Function,
    }));
  }
  return [];
}

/** Suggests files that may be recordings of other tools, or definitions. */
async function jsonSuggestions(workspace: Workspace, path: string, typed: string): Promise<Suggestion[]> {
  const files = await pathSuggestions(workspace, path, 'dataset', typed);
  return files.filter(({ name }) => name.toLowerCase().endsWith('.json'));
}

/** Suggests the scenarios of the worlds of all batches that use a dataset. */
export async function datasetScenarios(workspace: Workspace, dataset: string): Promise<Suggestion[]> {
  const worlds = new Set<string>();
  for (const { file, reference } of await workspace.mentionsOf(dataset)) {
    if (reference.kind !== 'dataset') continue;
    for (const other of await workspace.references(file))
      if (other.kind === 'world' && other.file !== undefined) worlds.add(other.file);
  }
  const found = new Map<string, Suggestion>();
  for (const world of worlds) {
    const parsed = await workspace.parsed(world);
    for (const each of await scenarioNames(workspace, parsed, parsed?.value)) found.set(each.name, each);
  }
  return [...found.values()];
}

/** Suggests the scenarios of published worlds. `named`: the `format` and folder, `from`, of a file. */
async function scenarioNames(
  workspace: Workspace,
  parsed: ParsedFile | undefined,
  named: unknown,
): Promise<Suggestion[]> {
  const { data } = publishedWorlds.safeParse(named);
  if (parsed === undefined || data === undefined) return [];
  const scenarios = await readScenarios(new Reading(workspace.files), parsed, data);
  return [...(scenarios?.names ?? [])].map((name) => ({ name, kind: CompletionItemKind.EnumMember }));
}

/** Suggests a condition for each tool in the rollouts of a world. */
async function conditions(workspace: Workspace, world: string): Promise<Suggestion[]> {
  const { names } = await rolloutTools(workspace, world, new Set());
  return names.map((name) => ({ name: `'tool.name == "${name}"'`, kind: CompletionItemKind.Function }));
}

/** Suggests the tools of a simulated world that no route names yet. */
async function routableTools(workspace: Workspace, world: string, routes: unknown): Promise<Suggestion[]> {
  const { names } = await routedTools(workspace, world, new Set());
  const routed = (Array.isArray(routes) ? routes : []).flatMap((route: unknown): unknown[] => {
    const tools = isJsonObject(route) ? route['tools'] : undefined;
    return Array.isArray(tools) ? tools : [];
  });
  return names.filter((name) => !routed.includes(name)).map((name) => ({ name, kind: CompletionItemKind.Function }));
}

function modelNames(workspace: Workspace, path: string, model: unknown): Suggestion[] {
  if (!isJsonObject(model)) return [];
  const served = endpointRefs(model).flatMap((ref) => workspace.facts.models(ref, workspace.files.isSaved(path)) ?? []);
  return [...new Set(served)].map((name) => ({ name, kind: CompletionItemKind.Value }));
}
