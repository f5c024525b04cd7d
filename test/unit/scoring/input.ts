import type { Json } from '../../../src/common/json.ts';
import type { ScoreInput, WorldSession } from '../../../src/rollout/ports.ts';

export function inputOf(of: {
  answer: Json;
  expected?: Json | undefined;
  question?: string;
  world?: WorldSession;
}): ScoreInput {
  return {
    task: {
      id: 't',
      question: of.question ?? 'What?',
      meta: {},
      ...(of.expected === undefined ? {} : { answer: of.expected }),
    },
    answer: of.answer,
    messages: [],
    world: of.world,
    seed: 1,
    signal: new AbortController().signal,
  };
}
