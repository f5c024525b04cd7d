/** Labels and formats of recorded fields. */
import { type Json } from '../../../../src/common/json.ts';
import { count, duration } from '../../../../src/common/units.ts';
import { holdLabel } from '../../../../src/trace/text/labels.ts';
import { valueText } from '../../../../src/trace/text/values.ts';

interface FieldLabel {
  readonly label: string;
  /** Tooltip. */
  readonly title?: string;
  /** Formats the value; undefined to omit the field. */
  readonly format?: (value: Json) => string | undefined;
}

interface LabeledField {
  readonly label: string;
  readonly title: string | undefined;
  readonly text: string;
}

const yesNo = (value: Json): string => (value === true ? 'yes' : value === false ? 'no' : 'unknown');
const time = (value: Json): string => (typeof value === 'number' ? duration(value) : valueText(value));
const timeIfAny = (value: Json): string | undefined => (value === 0 ? undefined : time(value));
const number = (value: Json): string => (typeof value === 'number' ? count(value) : valueText(value));
const oneOf =
  (texts: Readonly<Record<string, string>>) =>
  (value: Json): string =>
    (typeof value === 'string' ? texts[value] : undefined) ?? valueText(value);

/** Where the result of a call comes from. */
export const SOURCES: Readonly<Record<string, string>> = {
  live: 'this run',
  recorded: 'replayed from a recording',
  simulated: 'written by the model that plays the world',
  overlay: 'real, changed by the model that plays the world',
  predicted: 'predicted by a model of the world: the call was not made',
  edited: 'edited',
  observed: 'observed',
  imported: 'imported',
};

/** By the field's name, or its path if the name alone is ambiguous. */
const LABELS: Readonly<Record<string, FieldLabel>> = {
  finish_reason: { label: 'Finish reason', title: 'Why the model stopped, as reported by the endpoint' },
  input_tokens: { label: 'Input tokens', format: number },
  output_tokens: { label: 'Output tokens', format: number },
  cached_tokens: { label: 'Cached tokens', title: 'Input tokens from the prefix cache', format: number },
  reasoning_tokens: { label: 'Reasoning tokens', format: number },
  ms: { label: 'Duration', format: time },
  queue_ms: { label: 'Queue time', title: 'Time in the queue of the model server', format: timeIfAny },
  paused_ms: {
    label: 'Time paused',
    title: 'A trainer paused the endpoint; no limit counts this time',
    format: timeIfAny,
  },
  waited_ms: {
    label: 'Time waiting',
    title: 'The server held the call back in favor of other batches, or of a limit; no limit of the agent counts it',
    format: timeIfAny,
  },
  waited_for: { label: 'Waited for', title: 'Why the server held the call back' },
  aborted: {
    label: 'Aborted by a pause',
    title: 'Requests that a pause of the endpoint aborted; they were made again',
  },
  first_ms: { label: 'Time to first token', format: time },
  held_ms: { label: 'Time held', format: timeIfAny },
  retries: {
    label: 'Retries',
    title: 'The Timing tab lists them',
    format: (value) => (Array.isArray(value) ? count(value.length) : valueText(value)),
  },
  weights: { label: 'Weights', title: 'Version of the model’s weights' },
  weights_from: {
    label: 'Weights when it was sent',
    title: 'Version of the model’s weights when the request was sent',
  },
  trainable: { label: 'Usable for training', format: yesNo },
  why_not: { label: 'Not usable for training' },
  source: { label: 'Source', title: 'Where the result comes from', format: oneOf(SOURCES) },
  tools: { label: 'Tool definitions', title: 'Hash of the tool definitions that the model got' },
  top_p: { label: 'Top-p' },
  top_k: { label: 'Top-k' },
  'of seq': { label: 'Edited event' },
  'of m': { label: 'Edited message' },
  path: { label: 'Path', title: 'JSON pointer into the edited data' },
  m: { label: 'Message' },
  how: { label: 'Reason' },
  why: { label: 'Reason', format: (value) => (typeof value === 'string' ? holdLabel(value) : valueText(value)) },
  // Of a hold. The head of a call names its side model.
  side: {
    label: 'Position',
    format: (value) => (value === 'before' || value === 'after' ? `${value} the call` : undefined),
  },
  passed: { label: 'Passed', format: yesNo },
  touched: { label: 'Edited while running', format: yesNo },
  fingerprint: { label: 'Fingerprint', title: 'Equal fingerprints mean equal trajectories' },
  from: { label: 'From snapshot' },
  template: { label: 'Initial state', title: 'Content hash of the initial state of the scenario' },
  clock: { label: 'Clock', title: 'What the code of the world takes for now' },
  'clock start': { label: 'Clock starts at' },
  'clock step': {
    label: 'Clock step',
    title: 'How much later it is at each call',
    format: (value) => (typeof value === 'number' ? duration(value * 1000) : valueText(value)),
  },
  epoch: { label: 'Lease epoch' },
  try: { label: 'Try' },
  bytes: { label: 'Size', format: (value) => `${number(value)} bytes` },
};

/** Title of an event by its kind. */
const EVENT_TITLES: Readonly<Record<string, string>> = {
  'rollout.start': 'Start',
  'rollout.lease': 'Worker',
  'rollout.handover': 'Handed over',
  'rollout.end': 'End',
  'world.open': 'World',
  'world.close': 'World closed',
  'world.diff': 'World changed',
  'world.snapshot': 'World snapshot',
  score: 'Score',
  hold: 'Hold',
  release: 'Release',
  edit: 'Edit',
  log: 'Log',
};

/** Returns the title of an event; its kind if it has none. */
export function eventTitle(kind: string): string {
  return EVENT_TITLES[kind] ?? kind;
}

/** Returns a field with its label. `path`: names from the outside in; undefined if the field is omitted. */
export function labeledField(path: readonly string[], value: Json): LabeledField | undefined {
  const whole = path.join(' ');
  const known = LABELS[whole] ?? LABELS[path.at(-1) ?? ''];
  const text = known?.format === undefined ? valueText(value) : known.format(value);
  return text === undefined ? undefined : { label: known?.label ?? sentence(path), title: known?.title, text };
}

/** Returns `Max tokens` for `sampling max_tokens`: groups of the recording need no label of their own. */
function sentence(path: readonly string[]): string {
  const [first = '', ...rest] = path;
  const text = (GROUPS.has(first) && rest.length > 0 ? rest : path).join(' ').replaceAll('_', ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

const GROUPS: ReadonlySet<string> = new Set(['usage', 'sampling', 'totals']);
