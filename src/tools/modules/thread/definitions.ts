/** In the thread: the tools a module or a world defines. */

import type { JsonObject } from '../../../common/json.ts';
import type { ToolDefinition, WorldSession } from '../../sdk.ts';
import type { ToolProblem, WireTool } from '../protocol.ts';
import { isReply, ResultError } from './result.ts';

const TOOL = Symbol.for('rollout-studio.tool');
/** What model APIs take as a function's name. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What the thread needs of a schema: Standard Schema with its JSON Schema part, which zod has from 4.2 on. */
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
 * All tools among the members of `from`: a module's exports or a world's `tools`. Members that are no tools are left
 * alone.
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
        text:
          `the tool "${name}" cannot have this name; export it by a name of letters, digits, _ and -, at most 64 ` +
          'of them',
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

/** Whether `tool` made it. */
export function isTool(value: unknown): value is ToolDefinition {
  return typeof value === 'object' && value !== null && TOOL in value;
}

/** Calls made again, at most. */
const MAX_RETRIES = 10;

/** Throws TypeError where a call made again could do something twice. */
function retryOf({ retry, effect, idempotent }: ToolDefinition): Pick<WireTool, 'retry'> {
  if (retry === undefined) return {};
  if (effect !== 'pure' && idempotent !== true) {
    throw new TypeError(
      'it has `retry`, but a call made again might do something twice. If the same call twice does what it does ' +
        "once, add `idempotent: true`; if it changes nothing, `effect: 'pure'`; else remove `retry`",
    );
  }
  const { times, wait_seconds: wait } = retry as Partial<typeof retry>; // JavaScript may have written anything
  if (times === undefined || !Number.isInteger(times) || times < 1 || times > MAX_RETRIES)
    throw new TypeError(`\`retry.times\` must be a whole number from 1 to ${MAX_RETRIES}`);
  if (wait !== undefined && !(wait >= 0)) throw new TypeError('`retry.wait_seconds` must be a number from 0 on');
  return { retry: { times, ...(wait === undefined ? {} : { wait_seconds: wait }) } };
}

function schemaOf(tool: ToolDefinition): Schema['~standard'] {
  // The workspace's zod may be any version: what is there is looked at, not believed.
  const schema = (tool.input as Partial<Schema> | undefined)?.['~standard'];
  if (schema === undefined)
    throw new TypeError(isOldZod(tool.input) ? OLD_ZOD : 'its `input` must be a zod object: input: z.object({ … })');
  return schema;
}

/** Before version 3.24, zod's schemas had no `~standard`. */
function isOldZod(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && '_def' in schema;
}

const OLD_ZOD =
  'its `input` was made with a zod older than 4.2; import `z` from `zod` in the tool module, or install zod 4.2 or ' +
  'newer';

/** JSON Schema of what the tool's answer looks like. Throws TypeError. */
function outputOf(tool: ToolDefinition): JsonObject {
  const schema = (tool.output as Partial<Schema> | undefined)?.['~standard']?.jsonSchema;
  if (schema === undefined)
    throw new TypeError('its `output` must be a schema of zod 4.2 or newer, e.g. output: z.object({ … })');
  return jsonSchema(schema, 'output');
}

const known = new WeakMap<object, JsonObject>();

function parametersOf(tool: ToolDefinition): JsonObject {
  const before = known.get(tool.input);
  if (before !== undefined) return before;
  const { jsonSchema: schema } = schemaOf(tool);
  if (schema === undefined) throw new TypeError(OLD_ZOD);
  const parameters = jsonSchema(schema, 'input');
  if (parameters['type'] !== 'object') throw new TypeError('its `input` must be a zod object: input: z.object({ … })');
  known.set(tool.input, parameters);
  return parameters;
}

function jsonSchema(schema: NonNullable<Schema['~standard']['jsonSchema']>, side: 'input' | 'output'): JsonObject {
  const written = tidy(JSON.parse(JSON.stringify(schema[side]({ target: 'draft-2020-12' })))) as JsonObject;
  delete written['$schema'];
  return written;
}

/** zod writes the bounds of safe integers to every `int()`: they tell a model nothing and cost tokens in every call. */
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

/** Arguments that do not fit. The message names each place. */
export class ArgumentsError extends Error {}

/** The arguments as `run` gets them: checked, defaults put in. Throws ArgumentsError. */
export async function checkArguments(tool: ToolDefinition, args: JsonObject): Promise<unknown> {
  const result = await schemaOf(tool).validate(args);
  if (result.issues === undefined) return result.value;
  throw new ArgumentsError(issuesText(result.issues));
}

/**
 * What `run` returned as its `output` says: checked and completed; as it is where there is none. Throws ResultError.
 */
export async function checkResult(tool: ToolDefinition, returned: unknown): Promise<unknown> {
  if (tool.output === undefined) return returned;
  const schema = tool.output as unknown as Schema; // `outputOf` looked at it
  const result = await schema['~standard'].validate(isReply(returned) ? returned.response : returned);
  if (result.issues !== undefined)
    throw new ResultError(`It returned what does not match its \`output\`: ${issuesText(result.issues)}`);
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

/** What is wrong with what `open` of a world gave; undefined when nothing is. */
export function sessionProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'open must return an object with `tools`';
  const session = value as Partial<Record<keyof WorldSession, unknown>>;
  if (typeof session.tools !== 'object' || session.tools === null) return 'open must return an object with `tools`';
  for (const name of ['verify', 'snapshot', 'diff', 'close'] as const) {
    if (session[name] !== undefined && typeof session[name] !== 'function')
      return `\`${name}\` of what open returns must be a function`;
  }
  for (const [name, value] of Object.entries(session.tools)) {
    if (!isTool(value)) return `\`tools.${name}\` of what open returns is not made by tool(…)`;
  }
  return undefined;
}
