import assert from 'node:assert/strict';
import type { Json } from '../../../src/common/json.ts';
import type { ScoreInput, WorldSession } from '../../../src/rollout/ports.ts';

export function inputOf(of: {
  answer: Json;
  expected?: Json | undefined;
  question?: string;
  world?: WorldSession;
  ask?: ScoreInput['ask'];
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
    predictions: [],
    troubles: {},
    world: of.world,
    seed: 1,
    signal: new AbortController().signal,
    ask: of.ask ?? (() => assert.fail('no model is needed')),
  };
}
