// Modules that ask models: the worker gets their questions, and sends back the answers.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SubmittedModel, SubmittedModule } from '../../src/config/submission.ts';
import type { Ask, SideQuestion, ToolHost } from '../../src/rollout/ports.ts';
import { askerOf } from '../../src/tools/modules/asker.ts';
import { runExport } from '../../src/tools/modules/exports.ts';
import { openModule } from '../../src/tools/modules/moduleHost.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { openWorld } from '../../src/worlds/open.ts';
import { type CallRecord, callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';

const SECRET = 'sk-only-the-worker-knows';
const MODEL: SubmittedModel = {
  endpoints: ['http://model.test/v1'],
  name: 'small',
  api_key: SECRET,
  headers: {},
  sampling: { temperature: 1 },
  capture: { token_ids: false, logprobs: false },
  endpoint_wait_seconds: 1,
};
const models = { judge: MODEL };
const task = { id: 't1', question: 'q', meta: {} };
const never = new AbortController().signal;

let bench: ToolBench;
let module: SubmittedModule;
let tools: ToolHost;
let questions: SideQuestion[];

before(async () => {
  bench = await toolBench({ threads: 1 });
  module = await bench.module('asking.world.ts');
  tools = await openModule(module, bench.environment, { models });
});
after(() => bench.close());

const shout: Ask = (question) => {
  questions.push(question);
  return Promise.resolve(question.messages.at(-1)!.text.toUpperCase());
};

function context(ask: Ask = shout): CallRecord {
  questions = [];
  return { ...callContext(), ask };
}

const said = async (name: string, args = {}, ask?: Ask): Promise<unknown> =>
  (await callTool(tools, name, args, context(ask))).response;

describe('context.ask', () => {
  it('asks a model by its name, which only the worker knows', async () => {
    assert.equal(await said('grade'), 'HELLO');
    assert.deepEqual(questions, [
      {
        side: 'judge',
        model: MODEL,
        messages: [
          { role: 'system', text: 'Be short.' },
          { role: 'user', text: 'hello' },
        ],
        sampling: { temperature: 0, stop: ['END'] },
      },
    ]);
    assert.deepEqual(await said('both', { text: 'x' }), ['X 1', 'X 2']);
    const seen = String(await said('environment'));
    assert.match(seen, /"ask"/);
    assert.doesNotMatch(seen, /sk-only|model\.test/);
  });

  it('says which models there are', async () => {
    assert.equal(
      await said('whom', { text: 'critic' }),
      'AskError: tool_error: The model critic is unknown. Models of the entry of asking.world.ts in the agent file: ' +
        'judge.',
    );
    assert.match(String(await said('whom', { text: 'constructor' })), /The model constructor is unknown/);
    const none = await openModule(module, bench.environment);
    assert.equal(
      (await callTool(none, 'whom', { text: 'judge' }, context())).response,
      'AskError: tool_error: The model judge is unknown, because the entry of asking.world.ts in the agent file has ' +
        'no `models`. Add `models: { judge: { endpoint: …, name: … } }` to it.',
    );
    assert.deepEqual(questions, []);
  });

  it('checks its arguments, with a limit for messages', async () => {
    assert.deepEqual(await said('wrong'), [
      'TypeError: context.ask needs the name of a model, as in `models` of the file.',
      'TypeError: context.ask needs a text, or a list of at least one message.',
      'TypeError: context.ask needs a text, or a list of at least one message.',
      ...Array.from(
        { length: 2 },
        () => 'TypeError: A message for context.ask has a `role` (system, user, assistant) and a text as `content`.',
      ),
      'TypeError: The option `temperature` of context.ask must be a number.',
      'TypeError: The option `stop` of context.ask must be a list of texts.',
      'RangeError: The messages for context.ask have 4194305 characters. The maximum is 4194304.',
    ]);
    assert.deepEqual(questions, []);
    assert.equal(await said('huge'), 4 * 1024 * 1024);
  });

  it('throws the error of the call, with its class', async () => {
    const failing: Ask = () => Promise.reject(new ClassedError('model_error', 'The model is unknown.'));
    assert.equal(await said('whom', { text: 'judge' }, failing), 'AskError: model_error: The model is unknown.');
    await assert.rejects(callTool(tools, 'grade', {}, context(failing)), (error) => {
      assert.ok(error instanceof ClassedError);
      assert.deepEqual([error.class, error.message], ['tool_error', 'The model is unknown.']);
      return true;
    });
  });

  it('ends with its call: a late answer does nothing, a late question is refused', async () => {
    const reply = Promise.withResolvers<string>();
    assert.equal(await said('keeps', {}, () => reply.promise), 'kept');
    reply.resolve('late');
    assert.equal(await said('late'), 'Error: context.ask was called after the call had ended.');
    assert.deepEqual(bench.late, []);
  });

  it('tells when its call is made again, because another one ended its thread', async () => {
    const first = Promise.withResolvers<undefined>();
    const asked: string[] = [];
    let again = 0;
    const slow = {
      ...context((question) => {
        asked.push(question.messages[0]!.text);
        first.resolve(undefined);
        return again === 0 ? new Promise(() => undefined) : shout(question);
      }),
      onAgain: () => {
        again++;
      },
    };
    const answer = callTool(tools, 'patient', { text: 'x' }, slow);
    await first.promise;
    await assert.rejects(callTool(tools, 'leaves_first', {}, context()));
    assert.deepEqual((await answer).response, ['X FIRST', 'X SECOND']);
    assert.deepEqual([again, asked], [1, ['x first', 'x first', 'x second']]);
  });

  it('is made a third time on a thread of its own, which no other call can end', async () => {
    const asked = Array.from({ length: 4 }, () => Promise.withResolvers<undefined>());
    const answered = Promise.withResolvers<undefined>();
    let [again, questions] = [0, 0];
    const slow = {
      ...context((question) => {
        asked[questions++]?.resolve(undefined);
        if (again < 2) return new Promise(() => undefined);
        return answered.promise.then(() => shout(question));
      }),
      onAgain: () => {
        again++;
      },
    };
    const answer = callTool(tools, 'patient', { text: 'x' }, slow);
    for (const [index, name] of ['leaves_second', 'leaves_third', 'leaves_last'].entries()) {
      await asked[index]!.promise;
      await assert.rejects(callTool(tools, name, {}, context()));
    }
    answered.resolve(undefined);
    assert.deepEqual((await answer).response, ['X FIRST', 'X SECOND']);
    assert.equal(again, 2);
  });

  it('works in worlds, their verifiers, and scorers, with their own models', async () => {
    const world = openWorld(
      { name: 'notes', file: 'notes.world.yaml', kind: 'module', module, models, perturb: [] },
      bench.environment,
    );
    const session = await world.open({ task, seed: 1 }, never);
    assert.equal((await callTool(session, 'note', { text: 'a' }, context())).response, 1);
    const verdict = await session.verify!({ answer: 'x', expected: undefined }, { signal: never, ask: shout });
    assert.deepEqual([verdict.explanation, questions.length], ['A', 2]);
    await session.close();
    const grader = askerOf({ grader: MODEL }, 'grading.batch.yaml', shout);
    const input = { task, answer: 'good', messages: [] };
    const scored = await runExport(module, 'score', [input], bench.environment, never, grader);
    assert.deepEqual(scored, { value: 1, passed: true });
    await assert.rejects(
      runExport(module, 'score', [input], bench.environment, never, askerOf(models, 'grading.batch.yaml', shout)),
      /The model grader is unknown\. Models of grading\.batch\.yaml: judge\./,
    );
  });
});
