/** Maps a JSON Schema to form fields, one level at a time because a schema may refer to itself. */
import { isJsonObject, type Json, type JsonObject } from '../../../src/common/json.ts';

interface Member {
  readonly name: string;
  readonly schema: Json;
  readonly required: boolean;
}

export type Shape =
  | { readonly kind: 'text'; readonly lines: 'one' | 'many' }
  | { readonly kind: 'number'; readonly integer: boolean }
  | { readonly kind: 'flag' }
  | { readonly kind: 'enum'; readonly values: readonly Json[] }
  | { readonly kind: 'null' }
  | { readonly kind: 'variants'; readonly options: readonly { readonly name: string; readonly schema: Json }[] }
  | { readonly kind: 'list'; readonly items: Json }
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  /** Anything without a control of its own. */
  | { readonly kind: 'json' };

export interface FieldDescription {
  readonly shape: Shape;
  /** With references resolved. */
  readonly schema: JsonObject;
}

/** Texts with at most this `maxLength` get a single-line input. */
const LINE_CHARS = 200;
const MAX_REFERENCES = 50;
const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'true or false',
  array: 'list',
  object: 'object',
  null: 'null',
};

/** Returns the field for a schema. `root`: the schema that references are relative to. */
export function describe(source: Json, root: JsonObject): FieldDescription {
  const schema = resolve(source, root);
  return { schema, shape: shapeOf(schema, root) };
}

function shapeOf(schema: JsonObject, root: JsonObject): Shape {
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return { kind: 'enum', values: schema['enum'] };
  if (schema['const'] !== undefined) return { kind: 'enum', values: [schema['const']] };
  const options = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(options) && schema['properties'] === undefined) {
    return {
      kind: 'variants',
      options: options.map((option, index) => ({ name: variantName(resolve(option, root), index), schema: option })),
    };
  }
  const { type } = schema;
  if (Array.isArray(type)) {
    const [only, ...others] = type;
    if (others.length === 0 && only !== undefined) return shapeOf({ ...schema, type: only }, root);
    return {
      kind: 'variants',
      options: type.map((one, index) => ({
        name: variantName({ type: one }, index),
        schema: { ...schema, type: one },
      })),
    };
  }
  switch (type) {
    case 'string':
      return {
        kind: 'text',
        lines:
          schema['format'] !== undefined || schema['pattern'] !== undefined || atMost(schema, 'maxLength', LINE_CHARS)
            ? 'one'
            : 'many',
      };
    case 'integer':
    case 'number':
      return { kind: 'number', integer: type === 'integer' };
    case 'boolean':
      return { kind: 'flag' };
    case 'null':
      return { kind: 'null' };
    case 'array':
      return schema['prefixItems'] === undefined && isJsonObject(schema['items'])
        ? { kind: 'list', items: schema['items'] }
        : { kind: 'json' };
    default:
      return objectOf(schema);
  }
}

function objectOf(schema: JsonObject): Shape {
  const { properties, required, type, additionalProperties: others } = schema;
  if (isJsonObject(properties) && (Object.keys(properties).length > 0 || others === undefined || others === false)) {
    const names = Array.isArray(required) ? required : [];
    return {
      kind: 'object',
      members: Object.entries(properties).map(([name, member]) => ({
        name,
        schema: member,
        required: names.includes(name),
      })),
    };
  }
  // No properties allowed: an object without fields. Any properties allowed: edited as JSON.
  return type === 'object' && others === false ? { kind: 'object', members: [] } : { kind: 'json' };
}

/** Resolves `$ref` and a single `allOf`. Keywords next to the reference override those of its target. */
function resolve(source: Json, root: JsonObject): JsonObject {
  let schema = isJsonObject(source) ? source : {};
  for (let hops = 0; hops < MAX_REFERENCES; hops++) {
    const { $ref: reference, allOf, ...rest } = schema;
    const next =
      typeof reference === 'string'
        ? referenceTarget(reference, root)
        : Array.isArray(allOf) && allOf.length === 1
          ? allOf[0]
          : undefined;
    if (!isJsonObject(next)) return schema;
    schema = { ...next, ...rest };
  }
  return schema;
}

/** Returns the schema at a local reference such as `#/$defs/x`. */
function referenceTarget(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined;
  let at: Json | undefined = root;
  for (const part of reference
    .slice(1)
    .split('/')
    .filter((one) => one !== '')) {
    at = isJsonObject(at) ? at[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  return at;
}

function variantName(schema: JsonObject, index: number): string {
  const { title, type, properties } = schema;
  if (typeof title === 'string' && title !== '') return title;
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  // The member that distinguishes the variants, as in `kind: "circle"`.
  const discriminator = isJsonObject(properties)
    ? Object.entries(properties).find(([, member]) => isJsonObject(member) && member['const'] !== undefined)
    : undefined;
  if (discriminator !== undefined && isJsonObject(discriminator[1]))
    return `${discriminator[0]}: ${JSON.stringify(discriminator[1]['const'])}`;
  if (Array.isArray(schema['enum'])) return 'choice';
  return (typeof type === 'string' ? NAMES[type] : undefined) ?? `option ${index + 1}`;
}

function atMost(schema: JsonObject, key: string, most: number): boolean {
  const limit = schema[key];
  return typeof limit === 'number' && limit <= most;
}
