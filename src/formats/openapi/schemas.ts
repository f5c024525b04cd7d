/**
 * Converts schemas of an OpenAPI description to zod. A schema that is referenced becomes a constant; a recursive one is
 * lazy.
 */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { key, literal, type Names, quoted } from './code.ts';
import { type OpenApiDocument, objects, texts } from './document.ts';

const FORMATS: Readonly<Record<string, string>> = {
  email: 'z.email()',
  uuid: 'z.uuid()',
  uri: 'z.url()',
  date: 'z.iso.date()',
  'date-time': 'z.iso.datetime({ offset: true })',
};
/** Deeper schemas become `z.unknown()`. */
const MAX_DEPTH = 40;

export class Schemas {
  readonly #document: OpenApiDocument;
  readonly #names: Names;
  /** Names of the constants, by reference. */
  readonly #constants = new Map<string, string>();
  readonly #recursive = new Map<string, boolean>();
  /** Ordered so that each comes before those that use it. */
  readonly #definitions: string[] = [];

  constructor(document: OpenApiDocument, names: Names) {
    this.#document = document;
    this.#names = names;
  }

  /** The definitions of the constants that the expressions so far use. */
  get definitions(): readonly string[] {
    return this.#definitions;
  }

  /** Returns the expression for a schema. */
  text(schema: Json | undefined, depth = 0): string {
    if (schema === false) return 'z.never()';
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return 'z.unknown()';
    const ref = schema['$ref'];
    // OpenAPI 3.1 allows a description next to a reference.
    if (typeof ref === 'string') return `${this.#reference(ref)}${described(schema)}`;
    const nullable = schema['nullable'] === true || (Array.isArray(schema['type']) && schema['type'].includes('null'));
    const base = this.#base(schema, depth);
    const fallback =
      schema['default'] === undefined || base.startsWith('z.unknown') ? '' : `.default(${literal(schema['default'])})`;
    return `${base}${nullable && !base.startsWith('z.null(') ? '.nullable()' : ''}${fallback}${described(schema)}`;
  }

  /** Returns the expression for a property of an object: like `text`, and optional unless `required`. */
  member(schema: Json | undefined, required: boolean, depth = 0): string {
    const text = this.text(schema, depth);
    if (required || (isJsonObject(schema) && schema['default'] !== undefined && text.includes('.default(')))
      return text;
    // `.describe()` must come last: `.optional()` would drop the description.
    const description = isJsonObject(schema) ? described(schema) : '';
    return `${description === '' ? text : text.slice(0, -description.length)}.optional()${description}`;
  }

  #base(schema: JsonObject, depth: number): string {
    const deeper = depth + 1;
    if (schema['const'] !== undefined) return literals([schema['const']]);
    if (Array.isArray(schema['enum'])) return literals(schema['enum']);
    const all = objects(schema['allOf']);
    if (all.length > 0) {
      const own = schema['properties'] === undefined ? [] : [this.#object(schema, deeper)];
      return [...all.map((one) => this.text(one, deeper)), ...own].reduce(
        (left, right) => `z.intersection(${left}, ${right})`,
      );
    }
    for (const choice of ['oneOf', 'anyOf'] as const) {
      const any = objects(schema[choice]).map((one) => this.text(one, deeper));
      if (any.length > 0) return any.length === 1 ? (any[0] ?? '') : `z.union([${any.join(', ')}])`;
    }
    const types = [schema['type']].flat().filter((type) => typeof type === 'string');
    const nonNull = types.filter((type) => type !== 'null');
    if (types.length > 0 && nonNull.length === 0) return 'z.null()';
    if (nonNull.length > 1) return `z.union([${nonNull.map((type) => this.#typed(type, schema, deeper)).join(', ')}])`;
    return this.#typed(nonNull[0] ?? guess(schema), schema, deeper);
  }

  #typed(type: string, schema: JsonObject, depth: number): string {
    switch (type) {
      case 'string':
        return string(schema);
      case 'integer':
      case 'number':
        return number(type, schema, this.#document.version);
      case 'boolean':
        return 'z.boolean()';
      case 'array':
        return `z.array(${this.text(schema['items'], depth)})${bounds(schema, 'minItems', 'maxItems')}`;
      case 'object':
        return this.#object(schema, depth);
      default:
        return 'z.unknown()';
    }
  }

  #object(schema: JsonObject, depth: number): string {
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
    const required = new Set(texts(schema['required']));
    const more = schema['additionalProperties'];
    // Read-only properties are set by the service.
    const own = Object.entries(properties).filter(
      ([, property]) => !(isJsonObject(property) && property['readOnly'] === true),
    );
    if (own.length === 0 && required.size === 0) {
      if (more === false) return 'z.strictObject({})';
      return `z.record(z.string(), ${isJsonObject(more) ? this.text(more, depth) : 'z.unknown()'})`;
    }
    const lines = own.map(([name, property]) => `${key(name)}: ${this.member(property, required.has(name), depth)}`);
    const kind = more === true ? 'looseObject' : 'object';
    return (
      `z.${kind}({ ${lines.join(', ')} ` +
      `})${isJsonObject(more) && Object.keys(more).length > 0 ? `.catchall(${this.text(more, depth)})` : ''}`
    );
  }

  #reference(ref: string): string {
    const existing = this.#constants.get(ref);
    if (existing !== undefined) return existing;
    const name = this.#names.take(`${ref.split('/').at(-1) ?? 'schema'}Schema`);
    this.#constants.set(ref, name);
    const text = this.text(this.#document.at(ref));
    this.#definitions.push(
      this.#isRecursive(ref) ? `const ${name}: z.ZodType = z.lazy(() => ${text});` : `const ${name} = ${text};`,
    );
    return name;
  }

  /** Returns whether a referenced schema contains itself. */
  #isRecursive(ref: string): boolean {
    const cached = this.#recursive.get(ref);
    if (cached !== undefined) return cached;
    const seen = new Set<string>();
    const queue = [this.#document.at(ref)];
    let isRecursive = false;
    for (let next = queue.pop(); next !== undefined && !isRecursive; next = queue.pop()) {
      for (const other of referencesIn(next)) {
        isRecursive ||= other === ref;
        if (seen.has(other)) continue;
        seen.add(other);
        queue.push(this.#document.at(other));
      }
    }
    this.#recursive.set(ref, isRecursive);
    return isRecursive;
  }
}

function referencesIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}

function guess(schema: JsonObject): string {
  if (schema['properties'] !== undefined || schema['additionalProperties'] !== undefined) return 'object';
  return schema['items'] === undefined ? '' : 'array';
}

function literals(values: readonly Json[]): string {
  if (values.length > 0 && values.every((value) => typeof value === 'string'))
    return values.length === 1 ? `z.literal(${literal(values[0] ?? '')})` : `z.enum(${literal([...values])})`;
  const each = values.map((value) =>
    value === null ? 'z.null()' : typeof value === 'object' ? 'z.unknown()' : `z.literal(${literal(value)})`,
  );
  return each.length === 1 ? (each[0] ?? '') : `z.union([${each.join(', ')}])`;
}

function string(schema: JsonObject): string {
  const { format, pattern } = schema;
  const base =
    (typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined) ?? 'z.string()';
  const regex = typeof pattern === 'string' && isPattern(pattern) ? `.regex(new RegExp(${quoted(pattern)}, 'u'))` : '';
  return `${base}${bounds(schema, 'minLength', 'maxLength')}${regex}`;
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false; // a pattern of another regular expression dialect
  }
}

function number(type: 'integer' | 'number', schema: JsonObject, version: '3.0' | '3.1'): string {
  const bound = (name: string, exclusive: string, at: string, beyond: string): string => {
    const [value, strict] = [schema[name], schema[exclusive]];
    if (version === '3.1' && typeof strict === 'number') return `.${beyond}(${strict})`;
    return typeof value === 'number' ? `.${strict === true ? beyond : at}(${value})` : '';
  };
  const step = schema['multipleOf'];
  return [
    type === 'integer' ? 'z.int()' : 'z.number()',
    bound('minimum', 'exclusiveMinimum', 'min', 'gt'),
    bound('maximum', 'exclusiveMaximum', 'max', 'lt'),
    typeof step === 'number' && step > 0 ? `.multipleOf(${step})` : '',
  ].join('');
}

function bounds(schema: JsonObject, minKey: string, maxKey: string): string {
  const [min, max] = [schema[minKey], schema[maxKey]];
  return `${typeof min === 'number' ? `.min(${min})` : ''}${typeof max === 'number' ? `.max(${max})` : ''}`;
}

function described(schema: JsonObject): string {
  const { description } = schema;
  return typeof description === 'string' && description.trim() !== '' ? `.describe(${quoted(description.trim())})` : '';
}
