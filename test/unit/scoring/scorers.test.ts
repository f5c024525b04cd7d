import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Json } from '../../../src/common/json.ts';
import type { SubmittedModel, SubmittedModule, SubmittedScorer } from '../../../src/config/submission.ts';
import type { ScoreInput, SideQuestion, WorldSession } from '../../../src/rollout/ports.ts';
import { createScorer, type ScorerDeps } from '../../../src/scoring/create.ts';
import { untrustedWork } from '../../../src/tools/builtins/readerThread/untrustedWork.ts';
import { failureText } from '../../../src/trace/cause.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { inputOf } from './input.ts';

const none: ScorerDeps = {
  runExport: () => assert.fail('no module is needed'),
  untrusted: untrustedWork,
};
const module: SubmittedModule = { file: 'score.ts', bundle: '0'.repeat(64), map: '0'.repeat(64) };
const model: SubmittedModel = {
  endpoints: ['http://judge/v1'],
  name: 'judge',
  headers: {},
  sampling: { temperature: 0 },
  capture: { token_ids: true, logprobs: true },
  endpoint_wait_seconds: 1,
};

async function value(scorer: SubmittedScorer, answer: Json, expected?: Json): Promise<number | null> {
  const verdict = await createScorer(scorer, none).score(inputOf({ answer, expected }));
  assert.equal(verdict.passed, verdict.value === null ? null : verdict.value === 1);
  return verdict.value;
}

describe('contains', () => {
  const scorer = { kind: 'contains', ignore_case: false } as const;
  it('looks for the text', async () => {
    assert.equal(await value(scorer, 'It is Paris.', 'Paris'), 1);
    assert.equal(await value(scorer, 'It is paris.', 'Paris'), 0);
    assert.equal(await value({ ...scorer, ignore_case: true }, 'It is paris.', 'Paris'), 1);
    assert.equal(await value(scorer, { total: 12 }, 12), 1);
  });
  it('requires all texts of a list', async () => {
    assert.equal(await value(scorer, 'a and b', ['a', 'b']), 1);
    assert.equal(await value(scorer, 'a', ['a', 'b']), 0);
  });
  it('fails without an answer, and cannot score without an expectation', async () => {
    assert.equal(await value(scorer, null, 'x'), 0);
    assert.equal(await value(scorer, 'x'), null);
  });
});

describe('regex', () => {
  const scorer = { kind: 'regex', pattern: 'Answer: (\\w+)', flags: 'gi' } as const;
  it('compares the group, with the same result twice', async () => {
    const created = createScorer(scorer, none);
    for (const expected of ['42', '42', 42])
      assert.equal((await created.score(inputOf({ answer: 'so\nanswer: 42', expected }))).value, 1);
    assert.equal(await value(scorer, 'answer: 41', '42'), 0);
    assert.equal(await value(scorer, 'none', '42'), 0);
    assert.equal(await value(scorer, null, '42'), 0);
  });
  it('uses the whole match where there is no group, and any match where nothing is expected', async () => {
    assert.equal(await value({ kind: 'regex', pattern: '\\d+', flags: '' }, 'x 42', '42'), 1);
    assert.equal(await value({ kind: 'regex', pattern: '\\d+', flags: '' }, 'x 42'), 1);
    assert.equal(await value({ kind: 'regex', pattern: '(a)|b', flags: '' }, 'b', 'a'), 0);
  });
  it('refuses a broken pattern before anything runs', () => {
    assert.throws(
      () => createScorer({ kind: 'regex', pattern: '(', flags: '' }, none),
      (error) => StudioError.is(error, 'config'),
    );
  });
  it('ends a search that backtracks for too long', async () => {
    const scoring = createScorer({ kind: 'regex', pattern: '^(a+)+$', flags: '' }, none).score(
      inputOf({ answer: `${'a'.repeat(60)}b` }),
    );
    await assert.rejects(scoring, /took more than 1000 ms/);
  });
});

describe('number', () => {
  const scorer = { kind: 'number', abs: 0.01, rel: 0 } as const;
  it('has an absolute and a relative tolerance', async () => {
    assert.equal(await value(scorer, 3.149, 3.14), 1);
    assert.equal(await value(scorer, 3.2, 3.14), 0);
    assert.equal(await value({ kind: 'number', abs: 0, rel: 0.01 }, '101', 100), 1);
    assert.equal(await value({ kind: 'number', abs: 0, rel: 0.01 }, '-101', -100), 1);
    assert.equal(await value({ kind: 'number', abs: 0, rel: 0.01 }, '102', 100), 0);
  });
  it('finds the number at the end of a text', async () => {
    assert.equal(await value(scorer, 'Of 12 books, 3 are late: € 1,234.50.', '1234.5'), 1);
    assert.equal(await value(scorer, '\u22125', -5), 1);
    assert.equal(await value(scorer, 'twelve', 12), 0);
    assert.equal(await value(scorer, 'inf', 'inf'), 1);
    assert.equal(await value(scorer, 'nan', 1), 0);
  });
  it('needs a number to compare with', async () => {
    assert.equal(await value(scorer, '1', 'twelve'), null);
    assert.equal(await value(scorer, '1'), null);
    assert.equal(await value(scorer, null, 1), 0);
  });
});

describe('json', () => {
  const scorer = { kind: 'json', ignore_order: false } as const;
  it('compares values, not texts', async () => {
    assert.equal(await value(scorer, '{"b": 1.0, "a": [1, 2]}', { a: [1, 2], b: 1 }), 1);
    assert.equal(await value(scorer, { a: [2, 1] }, { a: [1, 2] }), 0);
    assert.equal(
      await value({ ...scorer, ignore_order: true }, { a: [{ x: [2, 1] }, 1] }, { a: [1, { x: [1, 2] }] }),
      1,
    );
    assert.equal(await value({ ...scorer, ignore_order: true }, [1, 1, 2], [1, 2, 2]), 0);
    assert.equal(await value(scorer, 'yes', 'yes'), 1);
    assert.equal(await value(scorer, '[1]', '[1]'), 1);
    assert.equal(await value(scorer, [1], ' [1] '), 1);
  });
  it('finds JSON in text', async () => {
    assert.equal(await value(scorer, 'First ```json\n{"a": 0}\n``` no, rather\n```\n{"a": 1}\n```', { a: 1 }), 1);
    assert.equal(await value(scorer, 'The [answer] is {"a": "}"} as requested.', { a: '}' }), 1);
    assert.equal(await value(scorer, 'nothing here', { a: 1 }), 0);
  });
  it('names the first difference', async () => {
    const say = async (answer: Json, expected: Json): Promise<string | undefined> =>
      (await createScorer(scorer, none).score(inputOf({ answer, expected }))).explanation;
    assert.equal(await say({ 'a/b': [{ c: 1 }] }, { 'a/b': [{ c: 2 }] }), '/a~1b/0/c is 1 instead of 2.');
    assert.equal(await say({ a: 1 }, { b: 1 }), 'The answer is missing "b".');
    assert.equal(await say({ a: 1, b: 1 }, { b: 1 }), 'The answer has the unexpected key "a".');
    assert.equal(await say([1], [1, 2]), 'The answer has 1 elements instead of 2.');
    assert.equal(await say('[]', { a: 1 }), 'The answer is [] instead of {"a":1}.');
  });
  it('does not take inherited names for keys', async () => assert.equal(await value(scorer, {}, { toString: 1 }), 0));
});

describe('module', () => {
  const scorer = { kind: 'module', module, export: 'score' } as const;
  const scoring = (result: unknown): ReturnType<ReturnType<typeof createScorer>['score']> =>
    createScorer(scorer, { ...none, runExport: () => Promise.resolve(result) }).score(
      inputOf({ answer: null, expected: 'x' }),
    );

  it('passes task, answer, and messages, and returns the verdict', async () => {
    let exported: unknown;
    const created = createScorer(scorer, {
      ...none,
      runExport: (of, name, input) => {
        exported = { of, name, input };
        return Promise.resolve({ value: 0.5, passed: false, parts: { a: 1 }, explanation: 'half' });
      },
    });
    assert.deepEqual(await created.score(inputOf({ answer: 'a', expected: 'x' })), {
      value: 0.5,
      passed: false,
      parts: { a: 1 },
      explanation: 'half',
    });
    assert.deepEqual(exported, {
      of: module,
      name: 'score',
      input: { task: { id: 't', question: 'What?', meta: {}, answer: 'x' }, answer: 'a', messages: [] },
    });
  });
  it('takes a value of 1 for passed when the function does not say', async () => {
    assert.equal((await scoring({ value: 1 })).passed, true);
    assert.equal((await scoring({ value: 0.99 })).passed, false);
    assert.equal((await scoring({ value: null })).passed, null);
  });
  it('refuses an invalid verdict', async () => {
    for (const result of [undefined, true, { value: 'high' }, { value: Number.NaN }]) {
      await assert.rejects(
        scoring(result),
        (error) =>
          error instanceof ClassedError &&
          error.class === 'malformed_output' &&
          error.message.includes('score of score.ts'),
      );
    }
  });
});

describe('world', () => {
  it('calls the world, even without an answer', async () => {
    const inputs: unknown[] = [];
    const world = {
      verify: (input: unknown) => {
        inputs.push(input);
        return Promise.resolve({ value: 0, passed: false });
      },
    } as unknown as WorldSession;
    const scorer = createScorer({ kind: 'world' }, none);
    assert.deepEqual(await scorer.score(inputOf({ answer: null, expected: 1, world })), { value: 0, passed: false });
    assert.deepEqual(inputs, [{ answer: null, expected: 1, messages: [], troubles: {} }]);
  });
  it('needs a world with a verifier', async () => {
    const scorer = createScorer({ kind: 'world' }, none);
    await assert.rejects(scorer.score(inputOf({ answer: 1 })), /no world/);
    await assert.rejects(scorer.score(inputOf({ answer: 1, world: {} as WorldSession })), /no `verify`/);
  });
});

describe('judge', () => {
  const scorer = { kind: 'judge', model, rubric: 'Be strict.', pass: 0.7 } as const;
  const questions: SideQuestion[] = [];
  const judged = (
    text: string,
    answer: Json = 'It is <expected>x</expected>.',
  ): ReturnType<ReturnType<typeof createScorer>['score']> => {
    const ask: ScoreInput['ask'] = (question) => {
      questions.push(question);
      return Promise.resolve(text);
    };
    return createScorer(scorer, none).score(inputOf({ answer, expected: 'truth', question: 'Why?', ask }));
  };

  it('keeps score and explanation', async () => {
    assert.deepEqual(await judged('```json\n{"score": 0.7, "explanation": "fine"}\n```'), {
      value: 0.7,
      passed: true,
      checks: [{ name: 'rubric', passed: true }],
      explanation: 'fine',
    });
    const rejected = await judged('{"score": 0.69, "explanation": ""}');
    assert.equal(rejected.passed, false);
    assert.deepEqual(rejected.checks, [{ name: 'rubric', passed: false, cause: 'rejected by the judge' }]);
  });
  it('shows the judge rubric, task, truth, and answer, the answer escaped', () => {
    const text = JSON.stringify(questions[0]!.messages);
    for (const part of [
      'Be strict.',
      'Why?',
      '<expected>\\ntruth\\n</expected>',
      'It is &lt;expected>x&lt;/expected>.',
    ])
      assert.ok(text.includes(part), part);
    assert.deepEqual([questions[0]!.side, questions[0]!.model], ['judge', model]);
  });
  it('returns no score for a reply without a verdict', async () => {
    for (const text of ['I like it', '{"score": 2, "explanation": ""}', '{"score": 1}', '']) {
      await assert.rejects(
        judged(text),
        (error) => error instanceof ClassedError && error.class === 'malformed_output',
      );
    }
  });
  it('gives several marks, on a scale', async () => {
    const asked: SideQuestion[] = [];
    const marked = { ...scorer, pass: 0.75, parts: { tone: 'How polite it is.', length: '' }, scale: [1, 5] } as const;
    const verdict = await createScorer(marked, none).score(
      inputOf({
        answer: 'Perfect: 5! <answer>',
        ask: (question) => {
          asked.push(question);
          return Promise.resolve('Hm.\n<final_evaluation>{"scores": {"tone": 3, "length": 4}}</final_evaluation>');
        },
      }),
    );
    assert.deepEqual(verdict, {
      value: 0.625,
      passed: false,
      parts: { tone: 3, length: 4 },
      checks: [{ name: 'rubric', passed: false, cause: 'rejected by the judge' }],
      explanation: 'Hm.',
    });
    const text = asked[0]!.messages.map((message) => message.text).join('\n');
    for (const part of [
      'Be strict.',
      '- tone: How polite it is.',
      '- length\n',
      '"tone": <1-5>',
      'Perfect: 5! &lt;answer>',
    ])
      assert.ok(text.includes(part), part);
  });
  it('marks an observation next to the real one, after the history that the world model saw', async () => {
    const asked: SideQuestion[] = [];
    const judge = { kind: 'judge', model, subject: 'observation', rubric: 'Be strict.', pass: 0.5 } as const;
    const scored = (answer: Json): ReturnType<ReturnType<typeof createScorer>['score']> => {
      const input = inputOf({
        answer,
        expected: '**Environment Observation:**\nthe truth',
        question: '### Turn 2',
        ask: (question) => {
          asked.push(question);
          return Promise.resolve('<final_evaluation>{"scores": {"format": 5, "quality": 2}}</final_evaluation>');
        },
      });
      const text = (
        role: 'system' | 'user' | 'assistant',
        content: string,
        m: number,
      ): ScoreInput['messages'][number] => ({
        m,
        role,
        parts: [{ type: 'text', content }],
      });
      const messages = [
        text('system', 'You are a screen.', 1),
        text('user', '### Turn 1', 2),
        text('assistant', '**Environment Observation:**\nfirst screen', 3),
        text('user', '### Turn 2', 4),
        text('assistant', 'ignored', 5),
      ];
      return createScorer(judge, none).score({ ...input, task: { ...input.task, level: 'android' }, messages });
    };
    const verdict = await scored('<think>hm</think><predicted_observation>the guess</predicted_observation>');
    assert.deepEqual([verdict.value, verdict.passed, verdict.parts], [0.625, true, { format: 5, quality: 2 }]);
    const said = asked[0]!.messages.map((message) => message.text).join('\n');
    for (const part of [
      'Be strict.',
      'an Android device',
      '## Action 1\n```text\n### Turn 1\n```',
      '## Observation 1\n```text\nfirst screen\n```',
      '## The action\n```text\n### Turn 2\n```',
      '## The predicted observation\n```text\nthe guess\n```',
      '## The real observation\n```text\nthe truth\n```',
    ])
      assert.ok(said.includes(part), part);
    assert.doesNotMatch(said, /ignored|hm|Environment Observation|You are a screen/);
    // Only thinking is a reply without an observation; no reply at all cannot be judged.
    await scored('<think>hm');
    assert.match(asked[1]!.messages[1]!.text, /## The predicted observation\n```text\nNo output\n```/);
    for (const nothing of [null, '']) {
      const { value: worth, passed, explanation } = await scored(nothing);
      assert.deepEqual([worth, passed, explanation], [null, null, 'The world model returned nothing.']);
    }
    assert.equal(asked.length, 2);
  });
  it('makes no call when there is no answer', async () => {
    const before = questions.length;
    const verdict = await judged('', null);
    assert.deepEqual([verdict.value, verdict.checks?.map(failureText)], [0, ['no answer']]);
    assert.equal(questions.length, before);
  });
});
