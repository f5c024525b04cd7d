/**
 * The variables of expressions. A record that does not apply is empty, so that using its fields
 * means "no match" with a reason: at a message, neither `tool.name == "x"` nor `!(tool.name == "x")` is true.
 */
export type Values = Readonly<Record<string, unknown>>;

export interface QueryEnvironment {
  /** The stored event: seq, v, at, kind, agent, span, parent, data. */
  readonly event: Values;
  /** Index of its step; 0 before the first. */
  readonly step: number;
  /**
   * For events of a tool call: name, arguments, effect, result, error, ms (the last three are null until the call
   * ends), reward (the score of this call alone, or null), prediction (the accuracy of what a world predicted for it,
   * or null), repeats (the number of earlier calls with the same arguments), injected (the rule that changed the call,
   * or ''), made (false if the rule answered, so that the tool was never called), and source (where the result comes
   * from: live, simulated, facts, overlay, recorded, predicted, edited, observed, or imported; '' until the call ends).
   * `result` is what it really returned.
   */
  readonly tool: Values;
  /**
   * For messages, and ends with a message: m, role, origin, text, reasoning, calls [{name, arguments}], parts, from,
   * to, topic.
   */
  readonly message: Values;
  /**
   * At the end of a tool call, what the agent saw: text, json (null if the text is not JSON), and failed (whether it
   * signals an error).
   */
  readonly observation: Values;
  /** Instance path of the agent; '' in streams without agents. */
  readonly agent: string;
  /** For events of a side model's call: `user`, `judge`, or the name of another one. Otherwise ''. */
  readonly side: string;
  /** id, and if the task is available: question, answer, level, files, world, meta. */
  readonly task: Values;
  readonly attempt: number;
  /** The part of the mix of its batch; '' without one, and before it starts. */
  readonly part: string;
  /** Tokens that the agents used so far: input_tokens, output_tokens, cached_tokens. */
  readonly usage: Values;
  /** changes: the changes by the event's call. outcome: what the rollout came to in a published world so far, or ''. */
  readonly world: Values;
  /** The reward so far; null: none. */
  readonly reward: number | null;
  /** Later verdicts on a whole rollout, by scorer: value, passed, version, by. */
  readonly verdicts: Values;
  /** The status at this time: queued, running, held, done, truncated, cancelled, or infrastructure. */
  readonly status: string;
  /** The JSON value that a text search searches. Not a variable. */
  readonly everything: unknown;
}

type Variable = Exclude<keyof QueryEnvironment, 'everything'>;

/** CEL types. JSON does not distinguish int and double, so numbers are `dyn`. */
export const VARIABLES: Readonly<Record<Variable, 'map' | 'string' | 'dyn'>> = {
  event: 'map',
  step: 'dyn',
  tool: 'map',
  message: 'map',
  observation: 'map',
  agent: 'string',
  side: 'string',
  task: 'map',
  attempt: 'dyn',
  part: 'string',
  usage: 'map',
  world: 'map',
  reward: 'dyn',
  verdicts: 'map',
  status: 'string',
};

/** Fields of the records, for error messages. */
const FIELDS: Readonly<Partial<Record<Variable, readonly string[]>>> = {
  event: ['seq', 'v', 'at', 'kind', 'agent', 'span', 'parent', 'data'],
  tool: [
    ...['name', 'arguments', 'effect', 'result', 'error', 'ms', 'repeats', 'reward', 'prediction', 'injected', 'made'],
    'source',
  ],
  message: ['m', 'role', 'origin', 'text', 'reasoning', 'calls', 'parts', 'from', 'to', 'topic'],
  observation: ['text', 'json', 'failed'],
  task: ['id', 'question', 'answer', 'level', 'files', 'world', 'meta'],
  usage: ['input_tokens', 'output_tokens', 'cached_tokens'],
  world: ['changes', 'outcome'],
};

function isVariable(name: string): name is Variable {
  return Object.hasOwn(VARIABLES, name);
}

export function fieldsOf(name: string): readonly string[] | undefined {
  return isVariable(name) ? FIELDS[name] : undefined;
}

/** What expressions are about: their variables with CEL types, and an example for error messages. */
export interface Vocabulary {
  readonly variables: Readonly<Record<string, 'map' | 'string' | 'dyn' | 'double'>>;
  readonly example: string;
  /** Returns the fields of a record; undefined for another value. */
  fieldsOf(name: string): readonly string[] | undefined;
}

/** The vocabulary of events, rollouts, and attempts. */
export const OF_EVENTS: Vocabulary = {
  variables: VARIABLES,
  example: 'tool.name == "search" && tool.ms > 500',
  fieldsOf,
};
