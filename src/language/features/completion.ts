/** Provides completions: documented keys, enum values, paths, and names of tools, models, columns, and variables. */
import {
  type CompletionItem,
  CompletionItemKind,
  type CompletionList,
  type Position,
} from 'vscode-languageserver-types';
import { type FileKind, fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { formatOf } from '../../config/dataset/dataset.ts';
import { type Cursor, cursorAt } from '../workspace/cursor.ts';
import { choicesOf, describedNode, isGroup, type SchemaNode, schemaAt } from '../workspace/schema.ts';
import type { Lines } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { fieldSuggestions } from './completion/fields.ts';
import { datasetScenarios, nameSuggestions, type Suggestion } from './completion/names.ts';

export async function complete(
  workspace: Workspace,
  path: string,
  position: Position,
): Promise<CompletionList | undefined> {
  const lines = await workspace.lines(path);
  if (lines === undefined) return undefined;
  const kind = fileKind(path);
  const placeholder = openPlaceholder(lines, position);
  if (placeholder?.of === 'task')
    return kind !== undefined || (await workspace.roleOf(path)) === 'prompt'
      ? listOf(await fieldSuggestions(workspace, path), placeholder.range(), '}}')
      : undefined;
  if (kind === undefined)
    return formatOf(path) === undefined ? undefined : taskScenarios(workspace, path, lines, position);
  if (placeholder?.of === 'env')
    return listOf(
      workspace.facts.envNames().map((name) => ({ name, kind: CompletionItemKind.Variable })),
      placeholder.range(),
      '}',
    );
  const cursor = cursorAt(lines, position);
  if (cursor.on === 'text') return undefined;
  const value = (await workspace.parsed(path))?.value;
  const items: CompletionItem[] = [];
  const nodes = schemaAt(kind, cursor.path, value);
  if (cursor.on === 'key') items.push(...keyItems(kind, cursor, nodes, value, lines));
  items.push(...choiceItems(nodes, cursor));
  const names = await nameSuggestions(workspace, path, kind, cursor);
  items.push(...listOf(names, cursor.range, '').items);
  return { isIncomplete: false, items };
}

/** In a dataset, as the scenario of a task: `{"world": {"scenario": "…"}}`. */
const TASK_SCENARIO = /"world"\s*:\s*\{[^{}]*"scenario"\s*:\s*"([^"]*)$/;

async function taskScenarios(
  workspace: Workspace,
  path: string,
  lines: Lines,
  position: Position,
): Promise<CompletionList | undefined> {
  const line = lines.line(position.line);
  const typed = TASK_SCENARIO.exec(line.slice(0, position.character))?.[1];
  if (typed === undefined) return undefined;
  const rest = /^[^"]*/.exec(line.slice(position.character))?.[0] ?? '';
  const start = { line: position.line, character: position.character - typed.length };
  const end = { line: position.line, character: position.character + rest.length };
  return listOf(await datasetScenarios(workspace, path), { start, end }, '');
}

// ---- keys

function keyItems(
  kind: FileKind,
  cursor: Cursor,
  nodes: readonly SchemaNode[],
  root: unknown,
  lines: Lines,
): CompletionItem[] {
  const present = new Set(Object.keys(groupAt(root, cursor)));
  const current = lines.line(cursor.range.start.line).slice(cursor.range.start.character, cursor.range.end.character);
  const items = new Map<string, CompletionItem>();
  for (const node of nodes) {
    for (const [key, child] of Object.entries(node.properties ?? {})) {
      if (items.has(key) || (present.has(key) && key !== current)) continue;
      items.set(
        key,
        keyItem(
          key,
          child,
          node.required?.includes(key) === true && child.default === undefined,
          cursor,
          lines,
          describedNode(kind, [...cursor.path, key], root),
        ),
      );
    }
    // A list whose next item is not started yet.
    if (node.type === 'array' && cursor.indent !== undefined && node.items !== undefined) {
      for (const key of Object.keys(node.items.properties ?? {})) {
        const child = node.items.properties?.[key];
        if (child !== undefined && key !== 'name')
          items.set(
            `- ${key}`,
            keyItem(`- ${key}`, child, false, { ...cursor, indent: cursor.indent + 2 }, lines, child),
          );
      }
    }
  }
  return [...items.values()];
}

function keyItem(
  key: string,
  node: SchemaNode,
  required: boolean,
  cursor: Cursor,
  lines: Lines,
  documented: SchemaNode | undefined,
): CompletionItem {
  const { start, end } = cursor.range;
  const hasColon = /^\s*:/.test(lines.line(end.line).slice(end.character));
  const isNested = cursor.indent !== undefined && (isGroup(node) || node.type === 'array');
  const text = hasColon
    ? key
    : isNested
      ? `${key}:\n${' '.repeat(cursor.indent + 2)}${node.type === 'array' ? '- ' : ''}`
      : `${key}: `;
  const documentation = documented?.description;
  return {
    label: key,
    kind: CompletionItemKind.Property,
    sortText: `${required ? 0 : 1}${key}`,
    filterText: key,
    textEdit: { range: { start, end }, newText: text },
    insertTextMode: 1,
    ...(required
      ? { detail: 'required' }
      : node.default === undefined || typeof node.default === 'object'
        ? {}
        : { detail: `default ${String(node.default)}` }),
    ...(documentation === undefined ? {} : { documentation: { kind: 'markdown', value: documentation } }),
  };
}

function groupAt(root: unknown, { path }: Cursor): Readonly<Record<string, unknown>> {
  let value: unknown = root;
  for (const step of path)
    value =
      isJsonObject(value) || Array.isArray(value)
        ? (value as Readonly<Record<string | number, unknown>>)[step]
        : undefined;
  return isJsonObject(value) ? value : {};
}

// ---- values

function choiceItems(nodes: readonly SchemaNode[], cursor: Cursor): CompletionItem[] {
  const items = new Map<string, CompletionItem>();
  for (const node of nodes) {
    for (const label of choicesOf(node)) {
      items.set(label, {
        label,
        kind: CompletionItemKind.EnumMember,
        textEdit: { range: cursor.range, newText: label },
        sortText: `0${label}`,
        ...(node.description === undefined || node.const === undefined
          ? {}
          : { documentation: { kind: 'markdown', value: node.description } }),
      });
    }
  }
  return [...items.values()];
}

function listOf(suggestions: readonly Suggestion[], range: Cursor['range'], closing: string): CompletionList {
  return {
    isIncomplete: false,
    items: suggestions.map(({ name, kind, detail, documentation }, index) => ({
      label: name,
      kind,
      textEdit: { range, newText: `${name}${closing}` },
      filterText: name,
      sortText: `0${String(index).padStart(4, '0')}`,
      ...(detail === undefined ? {} : { detail }),
      ...(documentation === undefined ? {} : { documentation: { kind: 'markdown', value: documentation } }),
    })),
  };
}

/** Finds the `{{task.` or `${env:` placeholder at the cursor. The range includes its end, if any. */
function openPlaceholder(
  lines: Lines,
  { line, character }: Position,
): { readonly of: 'task' | 'env'; range(): Cursor['range'] } | undefined {
  const text = lines.line(line);
  const before = text.slice(0, character);
  const match = /(?:(\{\{\s*task\.)|(\$\{env:))([\w.]*)$/.exec(before);
  if (match === null) return undefined;
  const of = match[1] === undefined ? 'env' : 'task';
  const after = (of === 'env' ? /^\w*\}?/ : /^[\w.]*\s*\}{0,2}/).exec(text.slice(character))?.[0] ?? '';
  return {
    of,
    range: () => ({
      start: { line, character: character - (match[3] ?? '').length },
      end: { line, character: character + after.length },
    }),
  };
}
