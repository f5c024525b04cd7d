/** What may stand at a place of a file, by the JSON Schema of its kind. */

import type { FileKind } from '../../common/fileKinds.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { jsonSchema } from '../../config/jsonSchema.ts';
import type { Path } from '../../config/source/parse.ts';

export interface SchemaNode {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly allOf?: readonly SchemaNode[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly default?: Json;
  readonly $ref?: string;
}

const roots = new Map<FileKind, SchemaNode & JsonObject>();

function rootOf(kind: FileKind): SchemaNode & JsonObject {
  let root = roots.get(kind);
  // a JSON Schema by its making
  if (root === undefined) roots.set(kind, (root = jsonSchema(kind) as SchemaNode & JsonObject));
  return root;
}

/** The alternatives for a place; those that the values beside it (a `kind:`) exclude are left out. */
export function schemaAt(kind: FileKind, path: Path, value: unknown): SchemaNode[] {
  const root = rootOf(kind);
  let nodes = branches(root, root, value);
  let here: unknown = value;
  for (const step of path) {
    here =
      isJsonObject(here) || Array.isArray(here)
        ? (here as Readonly<Record<string | number, unknown>>)[step]
        : undefined;
    nodes = nodes.flatMap((node) => {
      const child =
        typeof step === 'number'
          ? node.items
          : (node.properties?.[step] ??
            (typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined));
      return child === undefined ? [] : branches(root, child, here);
    });
  }
  return nodes;
}

/** A node as written, before its alternatives: it has the description. */
export function described(kind: FileKind, path: Path, value: unknown): SchemaNode | undefined {
  const key = path.at(-1);
  if (key === undefined) return rootOf(kind);
  for (const parent of schemaAt(kind, path.slice(0, -1), value)) {
    const node = typeof key === 'number' ? parent.items : parent.properties?.[key];
    if (node !== undefined) return node;
  }
  return undefined;
}

function branches(root: SchemaNode & JsonObject, node: SchemaNode, value: unknown): SchemaNode[] {
  if (node.$ref !== undefined) {
    const target = node.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), root);
    return isJsonObject(target) ? branches(root, target, value) : [];
  }
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])];
  const own = alternatives.length === 0 || node.properties !== undefined ? [node] : [];
  const fitting = alternatives.filter((branch) => fits(branch, value));
  return [
    ...own,
    ...(fitting.length === 0 ? alternatives : fitting).flatMap((branch) => branches(root, branch, value)),
  ];
}

/** Whether the value's discriminating keys are those of the branch. */
function fits(branch: SchemaNode, value: unknown): boolean {
  if (!isJsonObject(value)) return true;
  return Object.entries(branch.properties ?? {}).every(
    ([key, node]) => node.const === undefined || value[key] === undefined || value[key] === node.const,
  );
}

/** Values that may be written, where they are a choice. */
export function choicesOf(node: SchemaNode): string[] {
  const choices =
    node.const !== undefined ? [node.const] : (node.enum ?? (node.type === 'boolean' ? [true, false] : []));
  return choices.map((choice) => (typeof choice === 'string' ? choice : JSON.stringify(choice)));
}

export function isGroup(node: SchemaNode): boolean {
  return node.type === 'object' || node.properties !== undefined;
}
