/** Looks up the JSON Schema for a location in a file. */
import { type FileKind } from '../../common/fileKinds.ts';
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
  // generated as a JSON Schema
  if (root === undefined) roots.set(kind, (root = jsonSchema(kind) as SchemaNode & JsonObject));
  return root;
}

/** Returns the alternatives for a location, excluding those that sibling values (e.g. `kind:`) rule out. */
export function schemaAt(kind: FileKind, path: Path, value: unknown): SchemaNode[] {
  const root = rootOf(kind);
  let nodes = branches(root, root, value);
  let current: unknown = value;
  for (const step of path) {
    current =
      isJsonObject(current) || Array.isArray(current)
        ? (current as Readonly<Record<string | number, unknown>>)[step]
        : undefined;
    nodes = nodes.flatMap((node) => {
      const child =
        typeof step === 'number'
          ? node.items
          : (node.properties?.[step] ??
            (typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined));
      return child === undefined ? [] : branches(root, child, current);
    });
  }
  return nodes;
}

/** Returns a schema node before resolving its alternatives, because it has the description. */
export function describedNode(kind: FileKind, path: Path, value: unknown): SchemaNode | undefined {
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
  const matching = alternatives.filter((branch) => matchesBranch(branch, value));
  return [
    ...own,
    ...(matching.length === 0 ? alternatives : matching).flatMap((branch) => branches(root, branch, value)),
  ];
}

/** Returns whether the value's discriminating keys match the branch. */
function matchesBranch(branch: SchemaNode, value: unknown): boolean {
  if (!isJsonObject(value)) return true;
  return Object.entries(branch.properties ?? {}).every(
    ([key, node]) => node.const === undefined || value[key] === undefined || value[key] === node.const,
  );
}

/** Returns the enum values of a node. */
export function choicesOf(node: SchemaNode): string[] {
  const choices =
    node.const !== undefined ? [node.const] : (node.enum ?? (node.type === 'boolean' ? [true, false] : []));
  return choices.map((choice) => (typeof choice === 'string' ? choice : JSON.stringify(choice)));
}

export function isGroup(node: SchemaNode): boolean {
  return node.type === 'object' || node.properties !== undefined;
}
