/** Values of a form: JSON, and typed text that is not (yet) valid for its field. */
import { isSameJson, type Json, type JsonObject } from '../../../src/common/json.ts';
import { plural } from '../../../src/common/text.ts';
import { describe, type FieldDescription } from './shape.ts';

/** Typed text that is not a number or JSON, where one is expected. */
export class InvalidText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** undefined: not set. */
export type FormValue = Json | InvalidText | undefined | readonly FormValue[] | { readonly [name: string]: FormValue };
export type Members = Readonly<Record<string, FormValue>>;

export function isMembers(value: FormValue): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof InvalidText);
}

export function isList(value: FormValue): value is readonly FormValue[] {
  return Array.isArray(value);
}

/** Returns the JSON of a form value. Invalid text becomes a string. */
export function asJson(value: FormValue): Json | undefined {
  if (value instanceof InvalidText) return value.text;
  if (isList(value)) return value.map((item) => asJson(item) ?? null);
  if (!isMembers(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, Json][] => {
      const json = asJson(member);
      return json === undefined ? [] : [[name, json]];
    }),
  );
}

/** Returns the initial values of a form: required members, with defaults, examples, or empty values. */
export function firstMembers(parameters: JsonObject): Members {
  const value = firstValue(parameters, parameters);
  return isMembers(value) ? value : {};
}

/** Returns the initial value of a field; undefined if its type has no empty value, such as numbers. */
export function firstValue(source: Json, root: JsonObject): FormValue {
  const { schema, shape } = describe(source, root);
  if (schema['default'] !== undefined) return schema['default'];
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : [];
  if (example !== undefined) return example;
  switch (shape.kind) {
    case 'text':
      return '';
    case 'number':
      return typeof schema['minimum'] === 'number' && schema['minimum'] > Number.MIN_SAFE_INTEGER
        ? schema['minimum']
        : undefined;
    case 'flag':
      return false;
    case 'enum':
      return shape.values[0];
    case 'null':
      return null;
    case 'variants':
      return shape.options[0] === undefined ? null : firstValue(shape.options[0].schema, root);
    case 'list':
      return [];
    case 'object':
      return Object.fromEntries(
        shape.members.map(({ name, schema: member, required }) => [
          name,
          required ? firstValue(member, root) : undefined,
        ]),
      );
    case 'json':
      return schema['type'] === 'array' ? [] : schema['type'] === 'object' ? {} : undefined;
  }
}

export type Path = readonly (string | number)[];

export interface FormProblem {
  readonly path: Path;
  readonly text: string;
}

/** Returns how a value violates its schema. For variants, compares with the closest one. */
export function problemsOf(
  source: Json,
  root: JsonObject,
  value: FormValue,
  required: boolean,
  path: Path = [],
): FormProblem[] {
  if (value === undefined) return required ? [{ path, text: 'Required.' }] : [];
  const described = describe(source, root);
  const { schema, shape } = described;
  const wrong = (text: string): FormProblem[] => [{ path, text }];
  if (value instanceof InvalidText)
    return wrong(shape.kind === 'number' ? `“${value.text}” is not a number.` : 'Not valid JSON.');
  if (shape.kind === 'variants') {
    const option = shape.options[nearestOption(described, root, value)];
    return option === undefined ? [] : problemsOf(option.schema, root, value, required, path);
  }
  if (!fits(described, value)) return wrong(`Must be ${TYPE_TEXTS[shape.kind] ?? jsonTypeText(schema)}.`);
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? textProblems(schema, value).flatMap(wrong) : [];
    case 'number':
      return typeof value === 'number' ? numberProblems(schema, value, shape.integer).flatMap(wrong) : [];
    case 'list':
      return isList(value)
        ? [
            ...countProblems(schema, value.length).flatMap(wrong),
            ...value.flatMap((item, index) => problemsOf(shape.items, root, item, true, [...path, index])),
          ]
        : [];
    case 'object':
      return isMembers(value)
        ? [
            ...shape.members.flatMap((member) =>
              problemsOf(member.schema, root, value[member.name], member.required, [...path, member.name]),
            ),
            ...(schema['additionalProperties'] === false
              ? extraMembers(described, value).map((name) => ({
                  path,
                  text: `Unknown argument “${name}”. Edit as JSON to remove it.`,
                }))
              : []),
          ]
        : [];
    default:
      return [];
  }
}

/** Returns the names of members that the schema does not define. */
export function extraMembers({ shape }: FieldDescription, value: Members): string[] {
  if (shape.kind !== 'object') return [];
  return Object.keys(value).filter(
    (name) => value[name] !== undefined && !shape.members.some((member) => member.name === name),
  );
}

/** Returns the index of the variant that a value matches, or is closest to. */
export function nearestOption({ shape }: FieldDescription, root: JsonObject, value: FormValue): number {
  if (shape.kind !== 'variants') return -1;
  const distances = shape.options.map(({ schema }) => distance(schema, root, value));
  return distances.indexOf(Math.min(...distances));
}

/** A different type weighs more than a different `kind`, and that more than any problems inside. */
const [OTHER_TYPE, OTHER_KIND] = [1e6, 1e3];

function distance(source: Json, root: JsonObject, value: FormValue): number {
  const described = describe(source, root);
  const { shape } = described;
  if (shape.kind === 'variants')
    return Math.min(...shape.options.map((option) => distance(option.schema, root, value)));
  if (!(value instanceof InvalidText && (shape.kind === 'number' || shape.kind === 'json')) && !fits(described, value))
    return OTHER_TYPE;
  const kinds =
    shape.kind === 'object' && isMembers(value)
      ? shape.members.filter(({ name, schema }) => {
          const member = describe(schema, root);
          return member.schema['const'] !== undefined && !isSameJson(member.schema['const'], asJson(value[name]));
        }).length
      : 0;
  return kinds * OTHER_KIND + problemsOf(source, root, value, true).length;
}

const TYPE_TEXTS: Readonly<Partial<Record<string, string>>> = {
  text: 'text',
  number: 'a number',
  flag: 'true or false',
  enum: 'one of the listed values',
  null: 'null',
  list: 'a list',
  object: 'an object',
};

function jsonTypeText({ type }: JsonObject): string {
  return type === 'array' ? 'a list' : type === 'object' ? 'an object' : 'JSON';
}

/** Whether a value has the type of its field. */
export function fits({ schema, shape }: FieldDescription, value: FormValue): boolean {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'flag':
      return typeof value === 'boolean';
    case 'enum':
      return shape.values.some((one) => isSameJson(one, asJson(value)));
    case 'null':
      return value === null;
    case 'list':
      return isList(value);
    case 'object':
      return isMembers(value);
    case 'json':
      return schema['type'] === 'array' ? isList(value) : schema['type'] === 'object' ? isMembers(value) : true;
    case 'variants':
      return true;
  }
}

function textProblems(schema: JsonObject, value: string): string[] {
  const { minLength, maxLength, pattern } = schema;
  const { length } = Array.from(value); // as JSON Schema counts
  if (typeof minLength === 'number' && length < minLength)
    return [minLength === 1 ? 'Must not be empty.' : `Must have at least ${minLength} characters.`];
  if (typeof maxLength === 'number' && length > maxLength)
    return [`Must have at most ${plural(maxLength, 'character')}.`];
  if (typeof pattern === 'string' && patternOf(pattern)?.test(value) === false) return [`Must match ${pattern}.`];
  return [];
}

/** Returns undefined for patterns that are not valid in JavaScript: the tool checks those. */
function patternOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

function numberProblems(schema: JsonObject, value: number, integer: boolean): string[] {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: step } = schema;
  if (integer && !Number.isInteger(value)) return ['Must be a whole number.'];
  if (typeof minimum === 'number' && value < minimum) return [`Must be at least ${minimum}.`];
  if (typeof above === 'number' && value <= above) return [`Must be more than ${above}.`];
  if (typeof maximum === 'number' && value > maximum) return [`Must be at most ${maximum}.`];
  if (typeof below === 'number' && value >= below) return [`Must be less than ${below}.`];
  if (typeof step === 'number' && step > 0 && Math.abs(value / step - Math.round(value / step)) > 1e-9)
    return [`Must be a multiple of ${step}.`];
  return [];
}

function countProblems({ minItems: min, maxItems: max }: JsonObject, count: number): string[] {
  if (typeof min === 'number' && count < min) return [`Must have at least ${plural(min, 'item')}.`];
  return typeof max === 'number' && count > max ? [`Must have at most ${plural(max, 'item')}.`] : [];
}

/** Returns the bounds of a value, such as `1 to 3 items`; '' if it has none. */
export function boundsText(schema: JsonObject): string {
  const number = (key: string): number | undefined => {
    const bound = schema[key];
    return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
  };
  const range = (min: number | undefined, max: number | undefined, unit = ''): string => {
    if (min === undefined && max === undefined) return '';
    const text =
      min !== undefined && max !== undefined
        ? min === max
          ? `${min}`
          : `${min} to ${max}`
        : min !== undefined
          ? `at least ${min}`
          : `at most ${max ?? ''}`;
    return unit === '' ? text : `${text} ${unit}${(max ?? min) === 1 ? '' : 's'}`;
  };
  const above = number('exclusiveMinimum');
  const below = number('exclusiveMaximum');
  return [
    range(number('minimum'), number('maximum')),
    ...(above === undefined ? [] : [`more than ${above}`]),
    ...(below === undefined ? [] : [`less than ${below}`]),
    range(number('minLength'), number('maxLength'), 'character'),
    range(number('minItems'), number('maxItems'), 'item'),
    ...(typeof schema['format'] === 'string' ? [schema['format']] : []),
  ]
    .filter((text) => text !== '')
    .join(', ');
}
