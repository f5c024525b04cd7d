/** Reads the tools that a module or world defines (in the thread). */

import type { JsonObject } from '../../../common/json.ts';
import type { ToolDefinition, WorldSession } from '../../sdk.ts';
import type { ToolProblem, WireTool } from '../protocol.ts';
import { isReply, ResultError } from './result.ts';

const TOOL = Symbol.for('rollout-studio.tool');
/** Function names that model APIs accept. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The required part of a schema: Standard Schema with JSON Schema, which zod supports since 4.2. */
interface Schema {
  readonly '~standard': {
    validate(value: unknown): ValidationResult | Promise<ValidationResult>;
    readonly jsonSchema?: Readonly<
      Record<'input' | 'output', (options: { target: string }) => Record<string, unknown>>
    >;
  };
}
type ValidationResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface Tools {
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  readonly wire: WireTool[];
  readonly problems: ToolProblem[];
}

/**
 * Returns all tools in `from`: a module's exports or a world's `tools`. Ignores members that are not tools.
 */
export function readTools(from: Readonly<Record<string, unknown>>): Tools {
  const byName = new Map<string, ToolDefinition>();
  const wire: WireTool[] = [];
  const problems: ToolProblem[] = [];
  for (const [name, value] of Object.entries(from)) {
    if (!isTool(value)) continue;
    const defined = value.defined.split('\n', 6).join('\n');
    if (name === 'default' || !NAME.test(name)) {
      problems.push({
        defined,
        text: `"${name}" is not a valid tool name; use letters, digits, _, and -, at most 64 characters`,
      });
      continue;
    }
    try {
      wire.push({
        name,
        description: value.description,
        parameters: parametersOf(value),
        ...(value.effect === undefined ? {} : { effect: value.effect }),
        ...(value.timeout_seconds === undefined ? {} : { timeout_seconds: value.timeout_seconds }),
        ...(value.idempotent === undefined ? {} : { idempotent: value.idempotent }),
        ...retryOf(value),
        ...(value.output === undefined ? {} : { output: outputOf(value) }),
        ...(value.session === undefined ? {} : { session: value.session }),
        defined,
      });
      byName.set(name, value);
    } catch (error) {
      problems.push({ defined, text: `the tool "${name}": ${error instanceof Error ? error.message : String(error)}` });
    }
  }
  return { byName, wire, problems };
}

/** Returns whether a value was created by `tool`. */
export function isTool(value: unknown): value is ToolDefinition {
  return typeof value === 'object' && value !== null && TOOL in value;
}

/** Maximum number of retries. */
const MAX_RETRIES = 10;

/** Throws TypeError if a retried call could take effect twice. */
function retryOf({ retry, effect, idempotent }: ToolDefinition): Pick<WireTool, 'retry'> {
  if (retry === undefined) return {};
  if (effect !== 'pure' && idempotent !== true) {
    throw new TypeError(
      '`retry` is not allowed, because a retried call might take effect twice. If repeated calls have no further ' +
        "effect, add `idempotent: true`; if the tool changes nothing, add `effect: 'pure'`; otherwise remove `retry`",
    );
  }
  const { times, wait_seconds: wait } = retry as Partial<typeof retry>; // JavaScript code may use any value
  if (times === undefined || !Number.isInteger(times) || times < 1 || times > MAX_RETRIES)
    throw new TypeError(`\`retry.times\` must be a whole number from 1 to ${MAX_RETRIES}`);
  if (wait !== undefined && !(wait >= 0)) throw new TypeError('`retry.wait_seconds` must be a number, 0 or more');
  return { retry: { times, ...(wait === undefined ? {} : { wait_seconds: wait }) } };
}

function schemaOf(tool: ToolDefinition): Schema['~standard'] {
  // The workspace's zod may have any version, so types cannot be trusted.
  const schema = (tool.input as Partial<Schema> | undefined)?.['~standard'];
  if (schema === undefined)
    throw new TypeError(isOldZod(tool.input) ? OLD_ZOD : '`input` must be a zod object: input: z.object({ … })');
  return schema;
}

/** Before version 3.24, zod schemas have no `~standard`. */
function isOldZod(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && '_def' in schema;
}

const OLD_ZOD =
  '`input` was created with a zod version before 4.2; import `z` from `zod` in the tool module, or install zod 4.2 ' +
  'or ' +
  'later';

/** Returns the JSON Schema of the tool's result. Throws TypeError. */
function outputOf(tool: ToolDefinition): JsonObject {
  const schema = (tool.output as Partial<Schema> | undefined)?.['~standard']?.jsonSchema;
  if (schema === undefined)
    throw new TypeError('`output` must be a schema of zod 4.2 or later, e.g. output: z.object({ … })');
  return jsonSchema(schema, 'output');
}

const parametersCache = new WeakMap<object, JsonObject>();

function parametersOf(tool: ToolDefinition): JsonObject {
  const cached = parametersCache.get(tool.input);
  if (cached !== undefined) return cached;
  const { jsonSchema: schema } = schemaOf(tool);
  if (schema === undefined) throw new TypeError(OLD_ZOD);
  const parameters = jsonSchema(schema, 'input');
  if (parameters['type'] !== 'object') throw new TypeError('`input` must be a zod object: input: z.object({ … })');
  parametersCache.set(tool.input, parameters);
  return parameters;
}

function jsonSchema(schema: NonNullable<Schema['~standard']['jsonSchema']>, side: 'input' | 'output'): JsonObject {
  const result = tidy(JSON.parse(JSON.stringify(schema[side]({ target: 'draft-2020-12' })))) as JsonObject;
  delete result['$schema'];
  return result;
}

/** Removes the bounds of safe integers that zod adds to every `int()`: they are useless to a model and cost tokens. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(
    ([key, member]) =>
      !(
        (key === 'minimum' && member === Number.MIN_SAFE_INTEGER) ||
        (key === 'maximum' && member === Number.MAX_SAFE_INTEGER)
      ),
  );
  return Object.fromEntries(members.map(([key, member]) => [key, tidy(member)]));
}

/** Invalid arguments. The message contains the path of each problem. */
export class ArgumentsError extends Error {}

/** Validates arguments and adds defaults. Throws ArgumentsError. */
export async function checkArguments(tool: ToolDefinition, args: JsonObject): Promise<unknown> {
  const result = await schemaOf(tool).validate(args);
  if (result.issues === undefined) return result.value;
  throw new ArgumentsError(issuesText(result.issues));
}

/**
 * Validates the result of `run` with `output`, if the tool has one. Throws ResultError.
 */
export async function checkResult(tool: ToolDefinition, returned: unknown): Promise<unknown> {
  if (tool.output === undefined) return returned;
  const schema = tool.output as unknown as Schema; // checked by `outputOf`
  const result = await schema['~standard'].validate(isReply(returned) ? returned.response : returned);
  if (result.issues !== undefined)
    throw new ResultError(`The result does not match \`output\`: ${issuesText(result.issues)}`);
  return isReply(returned) ? { ...returned, response: result.value } : result.value;
}

function issuesText(issues: readonly Issue[]): string {
  return issues
    .map((issue) => {
      const path = (issue.path ?? []).map((key) => String(typeof key === 'object' ? key.key : key)).join('.');
      return path === '' ? issue.message : `${path}: ${issue.message}`;
    })
    .join('\n');
}

/** Describes what is wrong with the result of a world's `open`; undefined if it is valid. */
export function sessionProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'open must return an object with `tools`';
  const session = value as Partial<Record<keyof WorldSession, unknown>>;
  if (typeof session.tools !== 'object' || session.tools === null) return 'open must return an object with `tools`';
  for (const name of ['verify', 'snapshot', 'diff', 'close'] as const) {
    if (session[name] !== undefined && typeof session[name] !== 'function')
      return `\`${name}\` in the result of open must be a function`;
  }
  for (const [name, value] of Object.entries(session.tools)) {
    if (!isTool(value)) return `\`tools.${name}\` in the result of open was not created by tool(…)`;
  }
  return undefined;
}
