/** Describes JSON Schemas in words, for the tables of the reference. */

/** The parts of a JSON Schema that the product's own schemas use. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema | readonly Schema[] | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Field {
  /** Keys joined by dots; `[]` means the items of a list, `*` any key. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly text: string;
}

const alternatives = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [];

/** Returns what a value of the schema looks like, e.g. `text, or list of numbers`. */
function typeText(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``.replaceAll('"', '');
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  // The alternatives of a map with keys are conditions on them.
  const choices = schema.properties === undefined ? alternatives(schema) : [];
  if (choices.length > 0) {
    const texts = [...new Set(choices.map(typeText))];
    return texts.join(' or ');
  }
  if (typeof schema.type === 'object') return schema.type.map((type) => typeText({ ...schema, type })).join(' or ');
  const type = schema.type ?? '';
  if (type === 'array') {
    const item = itemOf(schema);
    return item === undefined ? 'list' : `list of ${plural(typeText(item))}`;
  }
  if (type === 'object') return 'map';
  const range =
    schema.minimum !== undefined && schema.minimum > Number.MIN_SAFE_INTEGER ? `, at least ${schema.minimum}` : '';
  const names: Readonly<Record<string, string>> = { string: 'text', integer: 'whole number', boolean: 'true or false' };
  return `${names[type] ?? (type === '' ? 'any' : type)}${range}`;
}

function plural(text: string): string {
  return text === 'text'
    ? 'texts'
    : text === 'map'
      ? 'maps'
      : text.startsWith('`')
        ? text
        : text.replace(/^[^,]+/, '$&s');
}

function itemOf(schema: Schema): Schema | undefined {
  const { items } = schema;
  return typeof items === 'object' && !Array.isArray(items) ? (items as Schema) : undefined;
}

/** Returns the keys of a schema, nested ones after their parent. Alternatives that are maps are listed together. */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const fields: Field[] = [];
  for (const [key, value] of Object.entries(schema.properties ?? {})) {
    const path = `${prefix}${key}`;
    const fallback = value.default === undefined ? '' : ` Default: \`${JSON.stringify(value.default)}\`.`;
    fields.push({
      path,
      type: typeText(value),
      required: schema.required?.includes(key) === true && value.default === undefined,
      text: `${value.description ?? ''}${fallback}`.trim(),
    });
    fields.push(...nested(value, path));
  }
  return unique(fields);
}

function nested(schema: Schema, path: string): Field[] {
  if (schema.properties !== undefined) return fieldsOf(schema, `${path}.`);
  const item = itemOf(schema);
  if (item !== undefined) return nested(item, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') return nested(schema.additionalProperties, `${path}.*`);
  return alternatives(schema).flatMap((choice) => nested(choice, path));
}

/** Keeps the first field of a path and adds the types of the others. */
function unique(fields: readonly Field[]): Field[] {
  const byPath = new Map<string, Field>();
  for (const field of fields) {
    const first = byPath.get(field.path);
    if (first === undefined) byPath.set(field.path, field);
    else if (!first.type.split(', ').includes(field.type) && first.type !== field.type)
      byPath.set(field.path, {
        ...first,
        type: `${first.type}, ${field.type}`,
        text: first.text === '' ? field.text : first.text,
      });
  }
  return [...byPath.values()];
}
