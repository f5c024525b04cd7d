/**
 * What an attempt did, as a list that can be compared: one action per model turn. Two actions are the same when the
 * same agent made the same calls, by name and arguments, in the same order. Turns without a call are the same whatever
 * their words: no two answers are alike letter by letter, and what an attempt did is what tells it apart; the words are
 * compared apart (`text`). A turn whose model call failed is an action of its own kind; one still open is none.
 */
import { sha256Hex } from '../../common/hash.ts';
import { canonicalJson, type Json } from '../../common/json.ts';
import { textOf } from '../model/messages.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { Step } from '../model/step.ts';
import type { TrajectoryModel } from '../model.ts';
import type { ErrorClass } from '../schema.ts';

export interface ActionCall {
  /** seq of its `tool.start`; absent where it was asked for but never made. */
  readonly seq?: number;
  readonly name: string;
  /** As it was made, edits included. */
  readonly arguments: Json;
  /** Absent while it is open, or where nothing tells. */
  readonly result?: Json;
  readonly error?: ErrorClass;
}

export interface Action {
  /** Equal = the same action. */
  readonly key: string;
  /** Equal = the same agent and tools, whatever the arguments. */
  readonly shape: string;
  readonly kind: 'calls' | 'text' | 'error';
  readonly step: number;
  /** seq of the step's `model.start`. */
  readonly seq: number;
  readonly agent: string;
  readonly calls: readonly ActionCall[];
  /** What the model wrote beside or instead of calls. */
  readonly text: string;
}

/** A longer key is kept as its hash. */
const MAX_KEY = 1024;

/** The actions of a trajectory, in order of their steps. */
export function actionsOf(model: TrajectoryModel): Action[] {
  return model.steps.flatMap((step) => actionOf(model, step) ?? []);
}

function actionOf(model: TrajectoryModel, step: Step): Action | undefined {
  const end = step.model?.end?.data;
  const parts = (end?.m === undefined ? undefined : model.shownMessage(end.m))?.event.data.parts ?? [];
  const matched = new Set<ToolSpan>();
  const calls: ActionCall[] = [];
  for (const part of parts) {
    if (part.type !== 'tool_call') continue;
    const span = step.tools.find((candidate) => candidate.start.data.call === part.id && !matched.has(candidate));
    if (span !== undefined) matched.add(span);
    calls.push(span === undefined ? { name: part.name, arguments: part.arguments } : callOf(model, span));
  }
  for (const span of step.tools) if (!matched.has(span)) calls.push(callOf(model, span));
  const text = textOf(parts);
  const common = { step: step.index, seq: step.seq, agent: step.agent, calls, text };
  if (calls.length > 0) {
    return {
      kind: 'calls',
      ...common,
      key: keyOf(`${step.agent}\n${calls.map((call) => `${call.name}\n${canonicalJson(call.arguments)}`).join('\n')}`),
      shape: `${step.agent}\n${calls.map((call) => call.name).join('\n')}`,
    };
  }
  if (end === undefined) return undefined;
  const kind = end.status === 'error' ? 'error' : 'text';
  const key = `${kind} ${step.agent}`;
  return { kind, ...common, key, shape: key };
}

function callOf(model: TrajectoryModel, span: ToolSpan): ActionCall {
  const result = model.resultOf(span)?.value;
  const error = span.end?.data.error?.class;
  return {
    seq: span.seq,
    name: span.start.data.name,
    arguments: model.argumentsOf(span).value,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  };
}

/**
 * Lines cannot run into each other: neither an agent's path nor a tool's name nor canonical JSON holds a line break.
 */
function keyOf(text: string): string {
  return text.length <= MAX_KEY ? text : sha256Hex(text);
}
