/**
 * Checks a parsed file against its schema and explains problems in plain words. See `schema/values.ts` for the texts.
 */
import { z } from 'zod';
import type { ParsedFile, Path } from './parse.ts';
import type { Fix, Problem, ProblemCode } from './problem.ts';
import { looksSecret } from './secrets.ts';
import { closest } from './suggest.ts';

/** What is validated, and where its parts are. */
type ValidatedSource = Pick<ParsedFile, 'value' | 'problem' | 'problems'>;

export interface ValidationResult<T> {
  /** Every valid top-level member, with defaults, so that other checks can continue despite an error. */
  readonly value: Partial<T>;
  /** The whole value, if there are no problems. */
  readonly complete: T | undefined;
  readonly problems: readonly Problem[];
}

/** Validates a file. Never throws. If the root is not a group of keys, that is the only problem. */
export function validate<S extends z.ZodRawShape>(
  parsed: ValidatedSource,
  schema: z.ZodObject<S>,
): ValidationResult<z.output<z.ZodObject<S>>> {
  const raw = parsed.value;
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    const empty = raw === undefined || raw === null;
    if (empty && parsed.problems.length > 0) return { value: {}, complete: undefined, problems: [] };
    const problem = parsed.problem([], {
      code: 'type',
      message: empty ? 'the file is empty' : `the file must be a group of keys, not ${describeValue(raw)}`,
      hint: `Start with \`version: 1\`. Available keys: ${Object.keys(schema.shape).join(', ')}.`,
    });
    return { value: {}, complete: undefined, problems: [problem] };
  }
  const explainer = new Explainer(parsed, schema);
  const members = raw as Readonly<Record<string, unknown>>; // checked above to be a mapping
  const unknown = Object.keys(members).filter((key) => !Object.hasOwn(schema.shape, key));
  explainer.unknownKeys([], unknown, Object.keys(schema.shape));
  const value: Record<string, unknown> = {};
  for (const [key, member] of Object.entries<z.core.$ZodType>(schema.shape)) {
    const result = z.safeParse(member, Object.hasOwn(members, key) ? members[key] : undefined, { error: expectation });
    if (result.success) {
      if (result.data !== undefined) value[key] = result.data;
    } else {
      for (const issue of result.error.issues) explainer.explain(issue, [key]);
    }
  }
  const problems = explainer.problems();
  // Each member was parsed by the schema of its key.
  const typed = value as Partial<z.output<z.ZodObject<S>>>;
  const complete = problems.length === 0 ? (typed as z.output<z.ZodObject<S>>) : undefined;
  return { value: typed, complete, problems };
}

const GROUP = 'a group of keys';
/** How many choices are offered as fixes. */
const MAX_CHOICES = 6;

const PLAIN: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: GROUP,
  record: GROUP,
};

/** Default error texts: what is expected, or for an unknown key, the names of the valid ones. */
function expectation(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(' ') : '';
    case 'invalid_type':
      return PLAIN[issue.expected] ?? 'something else';
    case 'invalid_union':
      return '';
    default:
      return 'another value';
  }
}

class Explainer {
  readonly #problems: { readonly path: string; readonly problem: Problem }[] = [];
  /** Keys that are present but misspelled, and therefore not missing. */
  readonly #misspelled = new Set<string>();
  readonly #parsed: ValidatedSource;
  readonly #schema: z.ZodObject;

  constructor(parsed: ValidatedSource, schema: z.ZodObject) {
    this.#parsed = parsed;
    this.#schema = schema;
  }

  problems(): Problem[] {
    return this.#problems
      .filter(({ path, problem }) => problem.code !== 'missing' || !this.#misspelled.has(path))
      .map(({ problem }) => problem);
  }

  explain(issue: z.core.$ZodIssue, above: Path): void {
    const path = [...above, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
    switch (issue.code) {
      case 'unrecognized_keys':
        this.unknownKeys(path, issue.keys, issue.message.split(' '));
        break;
      case 'invalid_union':
        this.#union(issue, path);
        break;
      case 'custom': {
        const { hint, code } = issue.params ?? {};
        if (typeof hint === 'string')
          // Both are set by `fault`.
          this.#add(path, code as ProblemCode, issue.message, hint, code === 'unknown_key' ? { at: 'key' } : {});
        else this.#mismatch(path, issue.message);
        break;
      }
      case 'invalid_value':
        this.#mismatch(path, issue.message, { choices: issue.values.map(String) });
        break;
      case 'invalid_type':
        this.#mismatch(path, issue.message, { type: issue.expected });
        break;
      default:
        this.#mismatch(path, issue.message);
    }
  }

  unknownKeys(path: Path, keys: readonly string[], allowed: readonly string[]): void {
    for (const key of keys) {
      const near = closest(key, allowed);
      let hint: string;
      let fixes: readonly Fix[] = [];
      if (near === undefined) {
        hint =
          elsewhere(this.#schema, key, pathText(path).replaceAll(/\d+/g, '')) ?? `Available: ${allowed.join(', ')}.`;
      } else {
        hint = `Did you mean \`${near}\`?`;
        fixes = [{ do: 'replace', text: near }];
        // If one of several keys is required, the problem is reported for their parent.
        this.#misspelled.add(pathText([...path, near])).add(pathText(path));
      }
      const where = path.length === 0 ? '' : ` in \`${pathText(path)}\``;
      this.#add([...path, key], 'unknown_key', `unknown key \`${key}\`${where}`, hint, { at: 'key', fixes });
    }
  }

  #union(issue: z.core.$ZodIssueInvalidUnion, path: Path): void {
    const discriminator =
      'discriminator' in issue && typeof issue.discriminator === 'string' ? issue.discriminator : undefined;
    if (discriminator !== undefined && issue.errors.length === 0) {
      const choices = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
      this.#mismatch(path, `one of ${choices.join(', ')}\n${choices[0] ?? ''}`, { choices });
      return;
    }
    // The intended branch is the one that accepts the type of the value: its errors are deeper, or about keys.
    const intended = issue.errors
      .filter((errors) =>
        errors.every(
          (error) =>
            error.path.length > 0 ||
            error.code === 'unrecognized_keys' ||
            error.code === 'custom' ||
            error.code === 'too_small',
        ),
      )
      .sort((a, b) => a.length - b.length)[0];
    if (intended === undefined || intended.length === 0) {
      const words = issue.errors.flatMap((errors) =>
        errors.slice(0, 1).map((error) => error.message.split('\n')[0] ?? ''),
      );
      this.#mismatch(path, issue.message === '' ? [...new Set(words)].join(' or ') : issue.message);
      return;
    }
    for (const error of intended) this.explain(error, path);
  }

  #mismatch(path: Path, expected: string, allowed: { choices?: readonly string[]; type?: string } = {}): void {
    const [what = '', example] = expected.split('\n');
    const value = valueAt(this.#parsed.value, path);
    const key = path.at(-1);
    const named = typeof key === 'string';
    const write = (written: string): string => (named ? `\`${key}: ${written}\`` : `\`- ${written}\``);
    const name = `\`${pathText(path)}\``;
    if (value === undefined) {
      const hint = example === undefined ? `Add \`${String(key)}:\` with ${what}.` : `Add ${write(example)}.`;
      const problem = this.#parsed.problem(
        path.slice(0, -1),
        {
          code: 'missing',
          message: `${name} is missing`,
          hint,
          ...(example === undefined || !named
            ? {}
            : { fixes: [{ do: 'insert', path: path.slice(0, -1), key, value: example }] }),
        },
        'key',
      );
      this.#problems.push({ path: pathText(path), problem });
      return;
    }
    if (value === null) {
      this.#add(
        path,
        'type',
        `${name} has no value; it must be ${what}`,
        `${example === undefined ? 'Add one' : `For example, write ${write(example)}`}, or remove the key.`,
        { at: 'key' },
      );
      return;
    }
    let hint =
      what === GROUP
        ? 'Write its keys on separate lines, indented below it.'
        : example === undefined
          ? `Expected ${what}.`
          : `For example, write ${write(example)}.`;
    let fixes: readonly Fix[] = [];
    if (allowed.choices !== undefined) {
      const near = typeof value === 'string' ? closest(value, allowed.choices) : undefined;
      hint =
        near === value
          ? `Remove the quotes: ${write(near)}.`
          : near !== undefined
            ? `Did you mean \`${near}\`?`
            : `Write ${write(allowed.choices[0] ?? '')}.`;
      fixes = (near === undefined ? allowed.choices.slice(0, MAX_CHOICES) : [near]).map((text) => ({
        do: 'replace',
        text,
      }));
    } else if (
      (allowed.type === 'number' || allowed.type === 'int') &&
      typeof value === 'string' &&
      value.trim() !== '' &&
      Number.isFinite(Number(value))
    ) {
      fixes = [{ do: 'replace', text: value }];
      hint = `Remove the quotes: ${write(value)}.`;
    } else if (allowed.type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
      fixes = [{ do: 'replace', text: `"${String(value)}"` }];
      hint = `Put it in quotes: ${write(`"${String(value)}"`)}.`;
    }
    const secret = path.some((step) => step === 'api_key' || step === 'headers' || step === 'env');
    this.#add(
      path,
      allowed.choices === undefined && typeof value === 'object'
        ? 'type'
        : allowed.type === undefined
          ? 'value'
          : 'type',
      `${name} must be ${what}, not ${secret && typeof value === 'string' ? 'this text' : describeValue(value)}`,
      hint,
      { fixes },
    );
  }

  #add(
    path: Path,
    code: ProblemCode,
    message: string,
    hint: string,
    more: { at?: 'key'; fixes?: readonly Fix[] } = {},
  ): void {
    const { at, fixes = [] } = more;
    this.#problems.push({
      path: pathText(path),
      problem: this.#parsed.problem(path, { code, message, hint, ...(fixes.length === 0 ? {} : { fixes }) }, at),
    });
  }
}

/** Describes a value; includes a text only if it is short and not a secret. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      if (value === '') return 'an empty text';
      return value.length <= 40 && !value.includes('\n') && !looksSecret(value, true)
        ? `the text "${value}"`
        : 'this text';
    case 'number':
      return `the number ${String(value)}`;
    case 'boolean':
      return String(value);
    default:
      return Array.isArray(value) ? 'a list' : 'a group of keys';
  }
}

/** `tools[0].mcp.url` */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}

function valueAt(root: unknown, path: Path): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
}

/**
 * Returns a hint for a key that belongs elsewhere in the file, e.g. `temperature` in `model.sampling`; `here` is its
 * current parent.
 */
function elsewhere(schema: z.ZodObject, key: string, here: string): string | undefined {
  const places = new Map<string, string>(); // by key, the shallowest first
  // JSON Schema, as documented
  let level: [path: string, node: SchemaNode][] = [['', z.toJSONSchema(schema, { io: 'input' }) as SchemaNode]];
  while (level.length > 0) {
    const below: [string, SchemaNode][] = [];
    for (const [path, node] of level) {
      for (const [name, child] of Object.entries(node.properties ?? {})) {
        if (path !== here && !places.has(name)) places.set(name, path);
        below.push([path === '' ? name : `${path}.${name}`, child]);
      }
      if (node.items !== undefined) below.push([`${path}[]`, node.items]);
      for (const child of [...(node.anyOf ?? []), ...(node.oneOf ?? [])]) below.push([path, child]);
    }
    level = below;
  }
  const home = places.get(key);
  if (home !== undefined) return home === '' ? 'It belongs at the top of the file.' : `It belongs under \`${home}\`.`;
  const near = closest(key, places.keys());
  if (near === undefined) return undefined;
  const path = places.get(near) ?? '';
  return `Did you mean \`${path === '' ? near : `${path}.${near}`}\`?`;
}
