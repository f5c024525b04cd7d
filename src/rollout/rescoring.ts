/** Scores a recorded rollout again: its agent is not run, and its world is opened only for a scorer that needs it. */

import { callSeed } from '../trace/callSeed.ts';
import { ClassedError } from '../trace/classedError.ts';
import { ordinalsOf } from '../trace/model/ordinals.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import { hasHappened, isRepeated } from '../trace/undone.ts';
import type { History } from './act/history.ts';
import type { RecordedAction } from './act/recorded.ts';
import type { RolloutEnding } from './ending.ts';
import { editStart } from './gates/edits.ts';
import type { WorldCall } from './liveWorld.ts';
import type { LoggedMessage, Messages } from './log/messages.ts';
import { argumentsOf } from './tools/toolEvents.ts';
import type { RecordedWorldCall } from './world.ts';

/** Returns how a recorded rollout ended. */
export function recordedEnding({ end }: TrajectoryModel): RolloutEnding {
  if (end === undefined || end.data.status === 'infrastructure' || end.data.status === 'cancelled') {
    const error = new ClassedError('infrastructure', 'The rollout has no result that could be scored again.');
    return { status: 'infrastructure', answer: null, error, scorable: false };
  }
  const { status, answer, error } = end.data;
  const scorable = error?.class !== 'world_error';
  if (error === undefined) return { status, answer, scorable };
  const { class: errorClass, message, limit, stack, place } = error;
  return { status, answer, error: new ClassedError(errorClass, message, { limit, stack, place }), scorable };
}

/**
 * Returns the conversation that represents a recorded rollout: the leader's, otherwise that of the agent that worked
 * last. It has the messages of the last model call, its reply, and the results of the calls in it.
 */
export function recordedConversation(recording: TrajectoryModel, messages: Messages): LoggedMessage[] {
  return conversationOf(recording).flatMap((m) => messages.get(m) ?? []);
}

/** Returns the ordinals of its messages, as they are now. */
export function conversationOf(recording: TrajectoryModel): number[] {
  const calls = recording.steps.flatMap(({ model }) => model ?? []);
  const last = calls.findLast(({ agent }) => !agent.includes('/')) ?? calls.at(-1);
  if (last === undefined) return [];
  const ordinals = ordinalsOf(last.start.data.context);
  if (last.end?.data.m !== undefined) ordinals.push(last.end.data.m);
  for (const tool of recording.step(last.step)?.tools ?? [])
    if (tool.agent === last.agent && tool.end?.data.m !== undefined) ordinals.push(tool.end.data.m);
  return ordinals.map((m) => recording.currentMessage(m)?.event.data.m ?? m);
}

/**
 * Returns the calls of a world in the order in which they ended. Throws ClassedError `world_error` if one that its
 * newest snapshot does not contain changed the world and must not be repeated. `tools`: those of the world.
 */
export function callsOfWorld(
  history: History,
  recording: TrajectoryModel,
  tools: ReadonlySet<string>,
  rolloutSeed: number,
): RecordedWorldCall[] {
  const covered = history.snapshot?.seq ?? 0;
  const all = history.endedCalls(1).filter(({ name }) => tools.has(name));
  const since = new Set(all.filter(({ end }) => (end?.seq ?? 0) > covered && hasHappened(end?.data)));
  const lost = [...since].find(
    ({ seq, start, end }) =>
      start.effect === 'irreversible' && (history.changing.has(seq) || end?.data.status === 'ok'),
  );
  if (lost !== undefined)
    throw new ClassedError(
      'world_error',
      `The final state of the world cannot be restored: ${lost.name} is irreversible, was called after the newest ` +
        'snapshot, and must not be repeated.',
    );
  return all.map((action) => ({
    world: worldCall(action, history, recording, rolloutSeed),
    done: resultOf(action),
    repeats: since.has(action) && isRepeated(action.start.effect, history.changing.has(action.seq)),
  }));
}

function worldCall(
  { seq, name, start }: RecordedAction<'tool'>,
  history: History,
  recording: TrajectoryModel,
  rolloutSeed: number,
): WorldCall {
  const span = recording.span(seq);
  let data = { arguments: start.arguments };
  for (const { path, value } of history.edits.ofStart(seq)) data = editStart('tool', data, path, value);
  return {
    call: { id: start.call, name, arguments: argumentsOf(data.arguments) },
    seed: span?.kind === 'tool' ? callSeed(recording, span, rolloutSeed) : 0,
    effect: start.effect,
  };
}

function resultOf({ seq, start, end }: RecordedAction<'tool'>): RecordedWorldCall['done'] {
  return { span: seq, start, end: end?.data, message: end?.message, endSeq: end?.seq ?? seq, recorded: true };
}
