/**
 * Converts an attempt to a list of actions for comparisons: one action per model turn. Two actions are equal if the
 * same agent made the same calls, by name and arguments, in the same order. Turns without calls are equal regardless of
 * their text: answers are hardly ever identical, and attempts are compared by what they do. Texts are compared
 * separately (`text`). A turn with a failed model call is an action of kind `error`; an open turn is not an action.
 */
import { sha256Hex } from '../../common/hash.ts';
import { canonicalJson, type Json } from '../../common/json.ts';
import { textOf } from '../model/messages.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { Step } from '../model/step.ts';
import type { TrajectoryModel } from '../model.ts';
import { type Provenance, provenanceOf } from '../provenance.ts';
import type { Change, ErrorClass } from '../schema.ts';

export interface ActionCall {
  /** seq of its `tool.start`; absent if the call was requested but never made. */
  readonly seq?: number;
  readonly name: string;
  /** The arguments of the call, with edits applied. */
  readonly arguments: Json;
  /** Absent while the call is open, or if not recorded. */
  readonly result?: Json;
  readonly error?: ErrorClass;
  /** The rule that changed the call; `result` is what the agent saw. */
  readonly injected?: string;
  /** Where `result` comes from, if not from the tool. */
  readonly provenance?: readonly Provenance[];
  /** Changes of the world by it. Absent: none. */
  readonly changes?: readonly Change[];
}

export interface Action {
  /** Equal for equal actions. */
  readonly key: string;
  /** Equal for the same agent and tools, regardless of the arguments. */
  readonly shape: string;
  readonly kind: 'calls' | 'text' | 'error';
  readonly step: number;
  /** seq of the step's `model.start`. */
  readonly seq: number;
  readonly agent: string;
  readonly calls: readonly ActionCall[];
  /** The model's text, with or without calls. */
  readonly text: string;
}

/** Longer keys are hashed. */
const MAX_KEY = 1024;

/** Returns the actions of a trajectory, in order of their steps. */
export function actionsOf(model: TrajectoryModel): Action[] {
  return model.steps.flatMap((step) => actionOf(model, step) ?? []);
}

function actionOf(model: TrajectoryModel, step: Step): Action | undefined {
  const end = step.model?.end?.data;
  const parts = (end?.m === undefined ? undefined : model.currentMessage(end.m))?.event.data.parts ?? [];
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
  const result = model.seenOf(span) ?? model.resultOf(span)?.value;
  const injected = span.end?.data.injected;
  const provenance = provenanceOf(model, span);
  const error = span.end?.data.error?.class;
  const changes = model.diffsOf(span.seq).flatMap((event) => event.data.changes);
  return {
    seq: span.seq,
    name: span.start.data.name,
    arguments: model.argumentsOf(span).value,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
    ...(injected === undefined ? {} : { injected }),
    ...(provenance.length === 0 ? {} : { provenance }),
    ...(changes.length === 0 ? {} : { changes }),
  };
}

/** `text`: lines. Unambiguous, because agent paths, tool names, and canonical JSON contain no line breaks. */
function keyOf(text: string): string {
  return text.length <= MAX_KEY ? text : sha256Hex(text);
}
