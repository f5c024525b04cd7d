/** What a form holds: JSON, where a text that is not (yet) a value of its field stands as it was typed. */
import { isSameJson, type Json, type JsonObject } from '../../../src/common/json.ts';
import { describe, type FieldDescription } from './shape.ts';

/** What was typed where a number or JSON is wanted, and is none. */
export class Unread {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** undefined: left out. */
export type FormValue = Json | Unread | undefined | readonly FormValue[] | { readonly [name: string]: FormValue };
export type Members = Readonly<Record<string, FormValue>>;

export function isMembers(value: FormValue): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Unread);
}

export function isList(value: FormValue): value is readonly FormValue[] {
  return Array.isArray(value);
}

/** The JSON that a form stands for; what could not be read is the text that was typed. */
export function asJson(value: FormValue): Json | undefined {
  if (value instanceof Unread) return value.text;
  if (isList(value)) return value.map((item) => asJson(item) ?? null);
  if (!isMembers(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, Json][] => {
      const made = asJson(member);
      return made === undefined ? [] : [[name, made]];
    }),
  );
}

/** What a form begins with: what its schema requires, with defaults and examples, else as empty as the types allow. */
export function firstMembers(parameters: JsonObject): Members {
  const value = firstValue(parameters, parameters);
  return isMembers(value) ? value : {};
}

/** undefined where the type has nothing that is empty, as numbers have not. */
export function firstValue(given: Json, root: JsonObject): FormValue {
  const { schema, shape } = describe(given, root);
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
  /** It is only not there yet. */
  readonly missing?: true;
}

/** What keeps a value from being what its schema wants; of a choice, what keeps it from being what it is nearest to. */
export function problemsOf(
  given: Json,
  root: JsonObject,
  value: FormValue,
  required: boolean,
  path: Path = [],
): FormProblem[] {
  if (value === undefined) return required ? [{ path, text: 'Required.', missing: true }] : [];
  const described = describe(given, root);
  const { schema, shape } = described;
  const wrong = (text: string): FormProblem[] => [{ path, text }];
  if (value instanceof Unread)
    return wrong(shape.kind === 'number' ? `“${value.text}” is not a number.` : 'Not valid JSON.');
  if (shape.kind === 'variants') {
    const option = shape.options[nearestOption(described, root, value)];
    return option === undefined ? [] : problemsOf(option.schema, root, value, required, path);
  }
  if (!fits(described, value)) return wrong(`Must be ${WANTED[shape.kind] ?? wantedType(schema)}.`);
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
              ? othersIn(described, value).map((name) => ({
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

/** Members of a value that its schema does not name. */
export function othersIn({ shape }: FieldDescription, value: Members): string[] {
  if (shape.kind !== 'object') return [];
  return Object.keys(value).filter(
    (name) => value[name] !== undefined && !shape.members.some((member) => member.name === name),
  );
}

/** Which of a choice a value is, or is nearest to. */
export function nearestOption({ shape }: FieldDescription, root: JsonObject, value: FormValue): number {
  if (shape.kind !== 'variants') return -1;
  const distances = shape.options.map(({ schema }) => distance(schema, root, value));
  return distances.indexOf(Math.min(...distances));
}

/** Another type is farther away than another `kind`, and that farther than whatever is wrong within. */
const [OTHER_TYPE, OTHER_KIND] = [1e6, 1e3];

function distance(given: Json, root: JsonObject, value: FormValue): number {
  const described = describe(given, root);
  const { shape } = described;
  if (shape.kind === 'variants')
    return Math.min(...shape.options.map((option) => distance(option.schema, root, value)));
  if (!(value instanceof Unread && (shape.kind === 'number' || shape.kind === 'json')) && !fits(described, value))
    return OTHER_TYPE;
  const kinds =
    shape.kind === 'object' && isMembers(value)
      ? shape.members.filter(({ name, schema }) => {
          const member = describe(schema, root);
          return member.schema['const'] !== undefined && !isSameJson(member.schema['const'], asJson(value[name]));
        }).length
      : 0;
  return kinds * OTHER_KIND + problemsOf(given, root, value, true).length;
}

const WANTED: Readonly<Partial<Record<string, string>>> = {
  text: 'a text',
  number: 'a number',
  flag: 'true or false',
  enum: 'one of its choices',
  null: 'null',
  list: 'a list',
  object: 'an object',
};

function wantedType({ type }: JsonObject): string {
  return type === 'array' ? 'a list' : type === 'object' ? 'an object' : 'JSON';
}

/** Whether a value is of its field's type. */
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
  if (typeof maxLength === 'number' && length > maxLength) return [`Must have at most ${maxLength} characters.`];
  if (typeof pattern === 'string' && patternOf(pattern)?.test(value) === false) return [`Must match ${pattern}.`];
  return [];
}

/** Other languages' expressions are left to the tool. */
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

function countProblems({ minItems: least, maxItems: most }: JsonObject, count: number): string[] {
  if (typeof least === 'number' && count < least)
    return [`Must have at least ${least} ${least === 1 ? 'item' : 'items'}.`];
  return typeof most === 'number' && count > most
    ? [`Must have at most ${most} ${most === 1 ? 'item' : 'items'}.`]
    : [];
}

/** The bounds of a value, in a few words; '' where there are none. */
export function boundsText(schema: JsonObject): string {
  const number = (key: string): number | undefined => {
    const bound = schema[key];
    return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
  };
  const range = (least: number | undefined, most: number | undefined, unit = ''): string => {
    if (least === undefined && most === undefined) return '';
    const words =
      least !== undefined && most !== undefined
        ? least === most
          ? `${least}`
          : `${least} to ${most}`
        : least !== undefined
          ? `at least ${least}`
          : `at most ${most ?? ''}`;
    return unit === '' ? words : `${words} ${unit}${(most ?? least) === 1 ? '' : 's'}`;
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
