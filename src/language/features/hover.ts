/** Provides hovers: documentation of keys, resolved values, and targets of names. */
import type { Hover, Position } from 'vscode-languageserver-types';
import { type FileKind, fileKind } from '../../common/fileKinds.ts';
import type { PlaceInFile } from '../../config/source/parse.ts';
import { choicesOf, describedNode, schemaAt } from '../workspace/schema.ts';
import { lspRange } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { isQueue, queueText } from './hover/queueText.ts';
import { referenceText } from './hover/referenceText.ts';
import { resolvedText } from './hover/resolved.ts';

export async function hover(workspace: Workspace, path: string, position: Position): Promise<Hover | undefined> {
  const reference = await workspace.referenceAt(path, position);
  if (reference !== undefined) {
    const text = await referenceText(workspace, path, reference);
    if (text !== undefined) return { contents: { kind: 'markdown', value: text }, range: lspRange(reference.range) };
  }
  const kind = fileKind(path);
  const place = await workspace.nodeAt(path, position);
  const parsed = await workspace.parsed(path);
  if (kind === undefined || place === undefined || parsed === undefined) return undefined;
  const range = place.on === 'key' ? parsed.keyRange(place.path) : parsed.valueRange(place.path);
  const queue = kind === 'batch' && isQueue(place.path) ? queueText(workspace, parsed.value) : undefined;
  const text = [keyText(kind, place, parsed.value), resolvedText(kind, place.path, parsed.value), queue]
    .filter((part) => part !== undefined)
    .join('\n\n');
  return text === ''
    ? undefined
    : { contents: { kind: 'markdown', value: text }, ...(range === undefined ? {} : { range: lspRange(range) }) };
}

/** Returns the documentation of a key or value. Enum values have their own text. */
function keyText(kind: FileKind, { path, on }: PlaceInFile, root: unknown): string | undefined {
  const node = describedNode(kind, path, root);
  const nodes = schemaAt(kind, path, root);
  if (on === 'value') {
    const chosen = nodes.find(({ const: choice, description }) => choice !== undefined && description !== undefined);
    if (chosen?.description !== undefined) return chosen.description;
  }
  const key = path.at(-1);
  if (node?.description === undefined || typeof key !== 'string') return undefined;
  const choices = nodes.flatMap(choicesOf).map((choice) => `\`${choice}\``);
  const fallback =
    node.default === undefined || typeof node.default === 'object'
      ? undefined
      : `Default: \`${String(node.default)}\`.`;
  return [
    `**${key}**`,
    node.description,
    choices.length > 1 ? `One of ${[...new Set(choices)].join(', ')}.` : undefined,
    fallback,
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}
