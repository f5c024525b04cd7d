import { seedOf } from '../common/hash.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';

/**
 * Returns the seed that a rollout used for a tool call. It depends on the number of the agent's model call that
 * requested it, and on its position among that model call's tool calls.
 */
export function callSeed(model: TrajectoryModel, span: ToolSpan, rolloutSeed: number): number {
  const step = model.step(span.step);
  const m = step?.model?.end?.data.m;
  const calls = (m === undefined ? [] : (model.message(m)?.event.data.parts ?? [])).filter(
    (part) => part.type === 'tool_call',
  );
  const index = Math.max(
    0,
    calls.findIndex((part) => part.id === span.start.data.call),
  );
  const steps = new Set(
    (model.agent(span.agent)?.modelStarts ?? []).filter((seq) => seq < span.seq).map((seq) => model.stepOf(seq)?.index),
  );
  return seedOf(rolloutSeed, span.agent, steps.size, index);
}
