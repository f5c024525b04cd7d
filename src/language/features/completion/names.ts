/** Completes names that are not in the schema: files, tools, models, and columns. */
import { CompletionItemKind } from 'vscode-languageserver-types';
import type { FileKind } from '../../../common/fileKinds.ts';
import { isJsonObject } from '../../../common/json.ts';
import { COLUMNS } from '../../../config/dataset/columns.ts';
import { dirname, joinPath } from '../../../config/paths.ts';
import { endpointRefs } from '../../diagnostics/served.ts';
import { exportsIn } from '../../names/exports.ts';
import { datasetOf } from '../../workspace/columns.ts';
import type { Cursor } from '../../workspace/cursor.ts';
import type { FileRole } from '../../workspace/references.ts';
import { rolloutTools } from '../../workspace/rolloutTools.ts';
import { mcpServerRef, toolsOf } from '../../workspace/tools.ts';
import { valueAt } from '../../workspace/valueAt.ts';
import type { Workspace } from '../../workspace.ts';
import { pathSuggestions } from './paths.ts';

export interface Suggestion {
  readonly name: string;
  readonly kind: CompletionItemKind;
  readonly detail?: string;
  readonly documentation?: string;
}

/** Keys that reference files, as paths without list indexes. */
const FILES: Readonly<Record<FileKind, Readonly<Record<string, FileRole>>>> = {
  agent: { prompt: 'prompt', 'tools.module': 'module', 'team.members': 'agent', 'team.members.agent': 'agent' },
  world: { module: 'module', 'user.prompt': 'prompt', 'perturb.module': 'module' },
  batch: {
    agent: 'agent',
    world: 'world',
    'dataset.file': 'dataset',
    'scorer.module': 'module',
    'scorer.rubric': 'prompt',
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
  const role = FILES[kind][place];
  if (role !== undefined) return pathSuggestions(workspace, path, role, cursor.typed);
  const root = (await workspace.parsed(path))?.value;
  if (/(^|\.)model\.name$/.test(place) || (kind === 'agent' && /^tools\.(vision|audio)\.model$/.test(place)))
    return modelNames(workspace, path, valueAt(root, cursor.path.slice(0, -1)));
  if (kind === 'agent' && place === 'answer.tool') {
    return (await toolsOf(workspace, path)).tools.map(({ name, description }) => ({
      name,
      kind: CompletionItemKind.Function,
      ...(description === undefined ? {} : { documentation: description }),
    }));
  }
  if (kind === 'agent' && place === 'tools.tools') {
    const server = mcpServerRef(valueAt(root, [...cursor.path.slice(0, 2), 'mcp']));
    const serverTools =
      server === undefined ? undefined : workspace.facts.mcpTools(server, dirname(path), workspace.files.isSaved(path));
    const chosen = valueAt(root, [...cursor.path.slice(0, 2), 'tools']);
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
  if (kind === 'world' && place === 'perturb.when') return conditions(workspace, path);
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

/** Suggests a condition for each tool in the rollouts of a world. */
async function conditions(workspace: Workspace, world: string): Promise<Suggestion[]> {
  const { names } = await rolloutTools(workspace, world, new Set());
  return names.map((name) => ({ name: `'tool.name == "${name}"'`, kind: CompletionItemKind.Function }));
}

function modelNames(workspace: Workspace, path: string, model: unknown): Suggestion[] {
  if (!isJsonObject(model)) return [];
  const served = endpointRefs(model).flatMap((ref) => workspace.facts.models(ref, workspace.files.isSaved(path)) ?? []);
  return [...new Set(served)].map((name) => ({ name, kind: CompletionItemKind.Value }));
}
