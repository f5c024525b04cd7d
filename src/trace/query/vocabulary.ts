/**
 * What an expression may name (DESIGN section 9). What does not apply is an empty record, so that looking into it is
 * "no match" with a reason: `tool.name == "x"` is not true of a message, and `!(tool.name == "x")` is not either.
 */
export type Values = Readonly<Record<string, unknown>>;

export interface QueryEnvironment {
  /** The event as it is stored: seq, v, at, kind, agent, span, parent, data. */
  readonly event: Values;
  /** Index of the step it belongs to; 0 = before the first. */
  readonly step: number;
  /**
   * Of events that belong to a tool call: name, arguments, result, error and ms, the last three null before they are
   * known; repeats: earlier calls with the very same arguments.
   */
  readonly tool: Values;
  /**
   * Of messages and of ends that have one: m, role, origin, text, reasoning, calls [{name, arguments}], parts, from,
   * to, topic.
   */
  readonly message: Values;
  /** Instance path; '' when the stream names no agents. */
  readonly agent: string;
  /** id, and what else of the task is at hand: question, answer, level, files, world, meta. */
  readonly task: Values;
  readonly attempt: number;
  /** Tokens used so far: input_tokens, output_tokens, cached_tokens. */
  readonly usage: Values;
  /** changes: what the call that the event belongs to changed. */
  readonly world: Values;
  /** So far; null = none. */
  readonly reward: number | null;
  /** queued, running, held, done, truncated, cancelled or infrastructure, at that moment. */
  readonly status: string;
  /** What a text search looks through: any JSON. Not a variable. */
  readonly everything: unknown;
}

type Variable = Exclude<keyof QueryEnvironment, 'everything'>;

/** CEL types. Numbers come as JSON has them, so they are `dyn` rather than int or double. */
export const VARIABLES: Readonly<Record<Variable, 'map' | 'string' | 'dyn'>> = {
  event: 'map',
  step: 'dyn',
  tool: 'map',
  message: 'map',
  agent: 'string',
  task: 'map',
  attempt: 'dyn',
  usage: 'map',
  world: 'map',
  reward: 'dyn',
  status: 'string',
};

/** Fields of the records, for errors that say what there is. */
const FIELDS: Readonly<Partial<Record<Variable, readonly string[]>>> = {
  event: ['seq', 'v', 'at', 'kind', 'agent', 'span', 'parent', 'data'],
  tool: ['name', 'arguments', 'result', 'error', 'ms', 'repeats'],
  message: ['m', 'role', 'origin', 'text', 'reasoning', 'calls', 'parts', 'from', 'to', 'topic'],
  task: ['id', 'question', 'answer', 'level', 'files', 'world', 'meta'],
  usage: ['input_tokens', 'output_tokens', 'cached_tokens'],
  world: ['changes'],
};

export function isVariable(name: string): name is Variable {
  return Object.hasOwn(VARIABLES, name);
}

export function fieldsOf(name: string): readonly string[] | undefined {
  return isVariable(name) ? FIELDS[name] : undefined;
}
