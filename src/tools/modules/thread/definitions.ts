/** In the thread: the tools a module or a world defines. */
import type { JsonObject } from '../../../common/json.ts';
import type { ToolDefinition, WorldSession } from '../../sdk.ts';
import type { WireTool } from '../protocol.ts';

const TOOL = Symbol.for('rollout-studio.tool');
/** What model APIs take as a function's name. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What the thread needs of a schema: Standard Schema with its JSON Schema part, which zod has from 4.2 on. */
interface InputSchema {
  readonly '~standard': {
    validate(value: unknown): Validated | Promise<Validated>;
    readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}
type Validated = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface Tools {
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  readonly wire: WireTool[];
  /** What is wrong with them, for people. */
  readonly problems: string[];
}

/** All tools among the members of `from`: a module's exports or a world's `tools`. Members that are no tools are left alone. */
export function readTools(from: Readonly<Record<string, unknown>>): Tools {
  const byName = new Map<string, ToolDefinition>();
  const wire: WireTool[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(from)) {
    if (!isTool(value)) continue;
    if (name === 'default' || !NAME.test(name)) {
      problems.push(`the tool "${name}" cannot have this name; export it by a name of letters, digits, _ and -, at most 64 of them`);
      continue;
    }
    try {
      wire.push({
        name,
        description: value.description,
        parameters: parametersOf(value),
        ...(value.effect === undefined ? {} : { effect: value.effect }),
        ...(value.timeout_seconds === undefined ? {} : { timeout_seconds: value.timeout_seconds }),
        ...(value.session === undefined ? {} : { session: value.session }),
        defined: value.defined.split('\n', 6).join('\n'),
      });
      byName.set(name, value);
    } catch (error) {
      problems.push(`the tool "${name}": ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { byName, wire, problems };
}

function isTool(value: unknown): value is ToolDefinition {
  return typeof value === 'object' && value !== null && TOOL in value;
}

function schemaOf(tool: ToolDefinition): InputSchema['~standard'] {
  // The workspace's zod may be any version: what is there is looked at, not believed.
  const schema = (tool.input as Partial<InputSchema> | undefined)?.['~standard'];
  if (schema === undefined) throw new TypeError('its `input` must be a zod object: input: z.object({ … })');
  return schema;
}

const known = new WeakMap<object, JsonObject>();

function parametersOf(tool: ToolDefinition): JsonObject {
  const before = known.get(tool.input);
  if (before !== undefined) return before;
  const { jsonSchema } = schemaOf(tool);
  if (jsonSchema === undefined) throw new TypeError('its `input` is of a zod older than 4.2: update zod in the workspace, or remove it to use the product\'s');
  const parameters = tidy(JSON.parse(JSON.stringify(jsonSchema.input({ target: 'draft-2020-12' })))) as JsonObject;
  if (parameters['type'] !== 'object') throw new TypeError('its `input` must be a zod object: input: z.object({ … })');
  delete parameters['$schema'];
  known.set(tool.input, parameters);
  return parameters;
}

/** zod writes the bounds of safe integers to every `int()`: they tell a model nothing and cost tokens in every call. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([key, member]) =>
    !((key === 'minimum' && member === Number.MIN_SAFE_INTEGER) || (key === 'maximum' && member === Number.MAX_SAFE_INTEGER)));
  return Object.fromEntries(members.map(([key, member]) => [key, tidy(member)]));
}

/** Arguments that do not fit. The message names each place. */
export class ArgumentsError extends Error {}

/** The arguments as `run` gets them: checked, defaults put in. Throws ArgumentsError. */
export async function checkArguments(tool: ToolDefinition, args: JsonObject): Promise<unknown> {
  const checked = schemaOf(tool).validate(args);
  const result = checked instanceof Promise ? await checked : checked;
  if (result.issues === undefined) return result.value;
  throw new ArgumentsError(result.issues.map((issue) => {
    const path = (issue.path ?? []).map((key) => String(typeof key === 'object' ? key.key : key)).join('.');
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  }).join('\n'));
}

/** What is wrong with what `open` of a world gave; undefined when nothing is. */
export function sessionProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'open must return an object with `tools`';
  const session = value as Partial<Record<keyof WorldSession, unknown>>;
  if (typeof session.tools !== 'object' || session.tools === null) return 'open must return an object with `tools`';
  for (const name of ['verify', 'snapshot', 'diff', 'close'] as const) {
    if (session[name] !== undefined && typeof session[name] !== 'function') return `\`${name}\` of what open returns must be a function`;
  }
  for (const [name, value] of Object.entries(session.tools)) {
    if (!isTool(value)) return `\`tools.${name}\` of what open returns is not made by tool(…)`;
  }
  return undefined;
}
