/** Answers what the code of a repeated call asks models: nothing is sent outside of rollouts. */
import type { Ask, SideQuestion } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import { textOf } from '../trace/model/messages.ts';
import { ordinalsOf } from '../trace/model/ordinals.ts';
import type { ModelSpan, ToolSpan } from '../trace/model/spans.ts';
import type { TrajectoryModel } from '../trace/model.ts';

/** A question of a recorded call, with its answer. */
interface RecordedAnswer {
  readonly side: string;
  readonly messages: SideQuestion['messages'];
  readonly reply: string;
}

/** Returns what models answered inside a recorded call. */
export function answersIn(model: TrajectoryModel, call: ToolSpan): RecordedAnswer[] {
  const sides = model.step(call.step)?.sides ?? [];
  return answersOf(
    model,
    sides.filter(({ start }) => start.parent === call.seq),
  );
}

/** Returns what models answered outside of tool calls, such as a judge at the end. */
export function answersOutside(model: TrajectoryModel): RecordedAnswer[] {
  const sides = model.steps.flatMap((step) => step.sides);
  return answersOf(
    model,
    sides.filter(({ start }) => start.parent === undefined || model.span(start.parent)?.kind !== 'tool'),
  );
}

function answersOf(model: TrajectoryModel, sides: readonly ModelSpan[]): RecordedAnswer[] {
  return sides.flatMap(({ start, end }) => {
    const { side, context } = start.data;
    const reply = end?.data.m === undefined ? undefined : model.currentMessage(end.data.m)?.event.data.parts;
    if (side === undefined || reply === undefined) return [];
    const messages = ordinalsOf(context).flatMap((m): SideQuestion['messages'][number][] => {
      const message = model.message(m)?.event.data;
      if (message === undefined || message.role === 'tool') return [];
      return [{ role: message.role, text: textOf(message.parts) }];
    });
    return [{ side, messages, reply: textOf(reply) }];
  });
}

/** Returns what answers a repeated call from the record, each question once. `refusal`: says why it has no answer. */
export function askRecorded(
  answers: readonly RecordedAnswer[],
  refusal = (side: string): ClassedError =>
    new ClassedError(
      'tool_error',
      `The model ${side} was not asked this when the call was recorded, and repeated calls ask no models.`,
    ),
): Ask {
  const left = [...answers];
  return ({ side, messages }) => {
    const asked = JSON.stringify([side, messages]);
    const at = left.findIndex((one) => JSON.stringify([one.side, one.messages]) === asked);
    const [answer] = at === -1 ? [] : left.splice(at, 1);
    if (answer !== undefined) return Promise.resolve(answer.reply);
    return Promise.reject(refusal(side));
  };
}
