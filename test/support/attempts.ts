/** Attempts for comparisons: written as words, one action each (`a1` = tool a with argument 1), or as whole streams. */

import type { Action } from '../../src/trace/align/actions.ts';
import { actionsOf } from '../../src/trace/align/actions.ts';
import type { ComparedAttempt } from '../../src/trace/align/attempt.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { Random } from './random.ts';
import { Stream } from './stream.ts';

/** `a1 b2! says` → a call of a, a call of b with a different result, a turn without a call. */
export function streamOf(words: string): Stream {
  const stream = new Stream();
  stream.start();
  stream.message('user', 'Go.');
  for (const [index, word] of words
    .split(' ')
    .filter((one) => one !== '')
    .entries()) {
    const call = /^([a-z])(\d)(!?)$/.exec(word);
    if (call === null) {
      stream.model(word);
      continue;
    }
    const [, name = '', argument] = call;
    const id = `c${index}`;
    stream.model('', [{ id, name, arguments: { n: Number(argument), deep: { list: [1, 2] } } }]);
    stream.toolEnd(
      stream.toolStart(id, name, { n: Number(argument), deep: { list: [1, 2] } }),
      id,
      call[3] === '!' ? 'other' : 'fine',
    );
  }
  stream.end();
  return stream;
}

export function modelOf(words: string): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(streamOf(words).events);
  return model;
}

export function actions(words: string): Action[] {
  return actionsOf(modelOf(words));
}

export function attempt(words: string, passed: boolean | null = true, number = 1): ComparedAttempt {
  return {
    rollout: `r${number}`,
    attempt: number,
    passed,
    reward: passed === true ? 1 : 0,
    outcome: passed === null ? 'unscored' : passed ? 'passed' : 'failed',
    actions: actions(words),
  };
}

/** Words of up to `most` actions that sometimes share a beginning. */
export function randomWords(random: Random, most: number): string {
  const of = (letters: string): string => letters[Math.floor(random.next() * letters.length)] ?? '';
  return Array.from({ length: Math.floor(random.next() * (most + 1)) }, () =>
    random.next() < 0.15 ? 'says' : of('abc') + of('12'),
  ).join(' ');
}
