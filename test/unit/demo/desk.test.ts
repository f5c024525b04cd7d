import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NO_FAULTS } from '../../../src/demo/faults.ts';
import { decide } from '../../../src/demo/policy/decide.ts';
import { chatRequest } from '../../../src/demo/request.ts';
import { type DemoServer, startDemoServer } from '../../support/demoServer.ts';
import { attempt, type CallModel, type LoopMessage } from '../../support/deskLoop.ts';
import { OpenSample, sampleTasks } from '../../support/sampleWorkspace.ts';

const tasks = sampleTasks();

async function inLibrary<T>(id: string, use: (library: OpenSample) => Promise<T>): Promise<T> {
  const library = await OpenSample.open(tasks.find((task) => task.id === id) ?? assert.fail(id));
  try {
    return await use(library);
  } finally {
    library.close();
  }
}

/** The rules by themselves, without HTTP. */
function rules(temperature: number): CallModel {
  return ({ messages, tools, seed }) => {
    const turn = decide(chatRequest.parse({ messages, tools, temperature }), seed, NO_FAULTS);
    const calls = turn.calls.map((call, i) => ({
      id: `call-${messages.length}-${i}`,
      type: 'function' as const,
      function: call,
    }));
    return Promise.resolve({
      role: 'assistant',
      content: turn.content,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  };
}

describe('the clerk over HTTP, at temperature 0', () => {
  let server: DemoServer;
  before(async () => void (server = await startDemoServer()));
  after(() => server.close());

  for (const { id } of tasks) {
    it(`passes ${id}`, () =>
      inLibrary(id, async (library) => {
        const callModel: CallModel = async (request) => {
          const answer = await fetch(`${server.url}/chat/completions`, {
            method: 'POST',
            body: JSON.stringify({ ...request, temperature: 0 }),
          });
          return ((await answer.json()) as { choices: { message: LoopMessage }[] }).choices[0]!.message;
        };
        const { verdict, messages } = await attempt(library, callModel, 1);
        assert.equal(verdict.explanation, 'The library is as it should be.');
        assert.ok(messages.length <= 24, 'without detours');
      }));
  }
  it('calls tools in parallel where it can', () =>
    inLibrary('renew-or-return', async (library) => {
      const { messages } = await attempt(library, rules(0), 1);
      assert.deepEqual(
        messages.map((message) => message.tool_calls?.length ?? 0).filter((count) => count > 0),
        [1, 1, 4, 2],
      );
    }));
});

describe('the clerk at temperature 1', () => {
  it('passes about half of the attempts, fewer of harder tasks, and solves more tasks with more attempts', async () => {
    const attempts = 24;
    const passed = new Map<string, boolean[]>();
    for (const task of tasks) {
      const results: boolean[] = [];
      for (let n = 0; n < attempts; n++)
        results.push(
          await inLibrary(
            task.id,
            async (library) => (await attempt(library, rules(1), 1000 * n)).verdict.passed === true,
          ),
        );
      passed.set(task.id, results);
    }
    const rate = (level: number): number =>
      mean(tasks.filter((task) => task.level === level).map((task) => mean((passed.get(task.id) ?? []).map(Number))));
    const rates = [rate(1), rate(2), rate(3)];
    assert.ok(rates[0]! > 0.5 && rates[0]! < 0.8, `level 1: ${rates[0]!}`);
    assert.ok(rates[1]! > 0.38 && rates[1]! < 0.68, `level 2: ${rates[1]!}`);
    assert.ok(rates[2]! > 0.2 && rates[2]! < 0.5, `level 3: ${rates[2]!}`);
    const passAt = (k: number): number =>
      mean([...passed.values()].map((results) => 1 - missAll(results.length, results.filter(Boolean).length, k)));
    const curve = [1, 2, 4, 8].map(passAt);
    assert.ok(
      curve[1]! > curve[0]! + 0.1 && curve[2]! > curve[1]! + 0.08 && curve[3]! > 0.9,
      `pass@1,2,4,8: ${curve.join(' ')}`,
    );
  });
  it('makes every kind of mistake', async () => {
    const seen = { malformed: false, unknown: false, early: false, fixed: false };
    for (let n = 0; n < 60; n++) {
      await inLibrary('renew-or-return', async (library) => {
        const { verdict, messages } = await attempt(library, rules(1), 5000 + 100 * n);
        const calls = messages.flatMap((message) => message.tool_calls ?? []);
        const malformed = calls.some((call) => !isJson(call.function.arguments));
        const unknown = calls.some((call) => !(call.function.name in library.tools));
        seen.malformed ||= malformed;
        seen.unknown ||= unknown;
        seen.early ||= /Everything is done|I have taken care/.test(messages.at(-1)?.content ?? '');
        seen.fixed ||= (malformed || unknown) && verdict.passed === true;
      });
    }
    assert.deepEqual(seen, { malformed: true, unknown: true, early: true, fixed: true });
  });
  it('repeats an attempt for the same seed, and differs for others', () =>
    inLibrary('family-visit', async () => {
      const run = (seed: number): Promise<string> =>
        inLibrary('family-visit', async (library) => JSON.stringify((await attempt(library, rules(1), seed)).messages));
      const runs = await Promise.all([1, 2, 3, 4, 5].map((seed) => run(1000 * seed)));
      assert.equal(await run(1000), runs[0]);
      assert.ok(new Set(runs).size >= 4);
    }));
});

describe('other requests at the desk', () => {
  const answerTo = (question: string): Promise<{ answer: string; calls: string[] }> =>
    inLibrary('renew-one', async (library) => {
      Object.assign(library.task, { question });
      const { messages } = await attempt(library, rules(0), 1);
      return {
        answer: messages.at(-1)?.content ?? '',
        calls: messages
          .flatMap((message) => message.tool_calls ?? [])
          .map((call) => `${call.function.name} ${call.function.arguments}`),
      };
    });
  it('may use other words and figures', async () => {
    assert.equal((await answerTo('How many books does Omar Haddad have on loan?')).answer, '4');
    assert.equal((await answerTo('How many overdue loans does Priya Nair have?')).answer, '2');
    assert.equal((await answerTo('When is "Glass Harbour" due for Ben Adeyemi?')).answer, '2026-03-18');
    assert.equal((await answerTo('Please lend “Tin Whistle” to Ada Moreno.')).answer, 'Done: lent "Tin Whistle".');
    assert.equal(
      (await answerTo('Ada Moreno and Jonas Lind are here. Reserve "The Long Orchard" for both.')).calls.filter(
        (call) => call.startsWith('place_hold'),
      ).length,
      2,
    );
  });
  it('continue when a user provides the address', () =>
    inLibrary('two-annas', async (library) => {
      const answer = await rules(0)({
        seed: 1,
        tools: Object.keys(library.tools).map((name) => ({ type: 'function', function: { name } })),
        messages: [
          { role: 'user', content: 'Anna Keller pays all her fines.' },
          {
            role: 'assistant',
            content: '',
            tool_calls: [
              { id: 'c', type: 'function', function: { name: 'find_member', arguments: '{"name":"Anna Keller"}' } },
            ],
          },
          {
            role: 'tool',
            tool_call_id: 'c',
            content: JSON.stringify(
              ((await library.call('find_member', { name: 'Anna Keller' })) as { ok: unknown }).ok,
            ),
          },
          { role: 'assistant', content: 'Which address?' },
          { role: 'user', content: 'I live at 27 Station Road.' },
        ],
      });
      assert.deepEqual(
        answer.tool_calls?.map((call) => call.function.arguments),
        ['{"member_id":"M-1013"}'],
      );
    }));
  it('are asked back when a name is not enough, or declined', async () => {
    assert.match((await answerTo('Anna Keller pays all her fines.')).answer, /2 members called Anna Keller/);
    assert.match((await answerTo('Renew everything for Nobody Atall.')).answer, /no member called Nobody Atall/);
    assert.match((await answerTo('Sing a song.')).answer, /did not understand/);
    assert.match(
      (await answerTo('Renew "Glass Harbour" for Ben Adeyemi.')).answer,
      /Not everything could be done.*another member waits/,
    );
  });
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Probability that k of n attempts, c of them passed, contain no pass. */
function missAll(n: number, c: number, k: number): number {
  let miss = 1;
  for (let i = 0; i < k; i++) miss *= Math.max(0, n - c - i) / (n - i);
  return miss;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
