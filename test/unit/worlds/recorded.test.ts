/** Worlds that answer from recorded calls: which call answers, and what survives what. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { SubmittedRecordedWorld } from '../../../src/config/submission/world.ts';
import type { ToolOutcome, WorldSession } from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { RecordedAttempt, RecordedCall, RecordedIndex } from '../../../src/trace/recordedCalls/schema.ts';
import { RecordedCalls } from '../../../src/worlds/recorded/recordedCalls.ts';
import { RecordedSession } from '../../../src/worlds/recorded/session.ts';

/** `read` is pure. The answer of a call whose response starts with `!` is an error. */
type Line = readonly [name: string, argument: Json, response: Json];
const PURE = 'read';

function callOf([name, argument, response]: Line, index: number): RecordedCall {
  const failed = typeof response === 'string' && response.startsWith('!');
  return {
    seq: index * 2 + 3,
    name,
    arguments: { key: argument },
    ...(name === PURE ? { pure: true } : {}),
    answer: { response, ...(failed ? { error: { class: 'tool_error', message: response.slice(1) } } : {}) },
  };
}

function fileOf(attempts: readonly RecordedAttempt[]): Uint8Array {
  const lines: string[] = [];
  const index: RecordedIndex = {
    recorded_calls: 1,
    tools: [...new Set(attempts.flatMap(({ calls }) => calls.map(({ name }) => name)))].map((name) => ({
      name,
      description: name,
      parameters: { type: 'object' },
      ...(name === PURE ? { pure: true } : {}),
    })),
    blobs: [],
    attempts: [],
  };
  let offset = 0;
  for (const { task, question, rollout, calls } of attempts) {
    const line = JSON.stringify({ task, question, rollout, calls });
    const bytes = Buffer.byteLength(line);
    index.attempts.push({ task, question, rollout, calls: calls.length, offset, bytes });
    offset += bytes + 1;
    lines.push(line);
  }
  return Buffer.from(`${[...lines, JSON.stringify(index)].join('\n')}\n`);
}

const attempt = (rollout: string, lines: readonly Line[], task = 't1', question = 'q'): RecordedAttempt => ({
  task,
  question,
  rollout,
  calls: lines.map(callOf),
});

const TASK = { id: 't1', question: 'q' };

async function open(
  attempts: readonly RecordedAttempt[],
  match: SubmittedRecordedWorld['match'] = 'sequence',
  { otherwise, task = TASK }: { otherwise?: WorldSession; task?: typeof TASK } = {},
): Promise<{ session: RecordedSession; log: string[]; ask: (name: string, key: Json) => Promise<Json> }> {
  const file = new RecordedCalls(fileOf(attempts));
  const world: SubmittedRecordedWorld = {
    name: 'desk',
    file: 'desk.world.yaml',
    kind: 'recorded',
    match,
    calls: '0'.repeat(64),
    blobs: [],
    attempts: attempts.length,
    perturb: [],
  };
  const session = new RecordedSession({
    world,
    tools: file.index.tools,
    attempts: await file.attemptsFor(task),
    readBlob: () => assert.fail('no answer is long'),
    otherwise,
  });
  const log: string[] = [];
  return { session, log, ask: (name, key) => ask(session, name, { key }, log) };
}

/** How a call ends that a tool, or the recording, has answered. */
const MADE = { made: true, invented: false };

/** Makes a call as a rollout does, and returns what the agent sees. */
async function ask(session: WorldSession, name: string, args: JsonObject, log: string[] = []): Promise<Json> {
  const call = { id: 'c', name, arguments: args };
  let response: Json;
  try {
    ({ response } = await make(session, name, args, log));
  } catch (error) {
    assert.ok(error instanceof ClassedError && error.class === 'tool_error', String(error));
    response = error.recorded?.response ?? `Error (${error.class}): ${error.message}`;
  }
  session.observed?.(call, response, MADE);
  return response;
}

function make(session: WorldSession, name: string, args: JsonObject, log: string[] = []): Promise<ToolOutcome> {
  const context = {
    signal: new AbortController().signal,
    seed: 1,
    onLog: (_stream: string, text: string) => log.push(text),
    onProgress: () => undefined,
  };
  return session.call({ id: 'c', name, arguments: args }, context);
}

const NOT_HERE = (name: string, what = 'with these arguments after these calls'): string =>
  `Error (tool_error): This call is not in the recording: no attempt called ${name} ${what}.`;

describe('a world recorded as a sequence', () => {
  const ONE = attempt('r1', [
    ['read', 'a', 1],
    ['read', 'b', 2],
    ['write', 'a', 'ok'],
    ['read', 'a', 10],
    ['read', 'a', 11],
    ['write', 'b', '!limit reached'],
  ]);

  it('answers the calls of a state in any order and again, and a write only where it was made', async () => {
    const { ask } = await open([ONE]);
    assert.deepEqual([await ask('read', 'b'), await ask('read', 'a'), await ask('read', 'a')], [2, 1, 1]);
    assert.equal(await ask('write', 'b'), NOT_HERE('write'));
    assert.equal(await ask('write', 'a'), 'ok');
    assert.deepEqual([await ask('read', 'a'), await ask('read', 'a'), await ask('read', 'a')], [10, 11, 11]);
    assert.equal(await ask('read', 'b'), NOT_HERE('read'));
    assert.equal(await ask('write', 'b'), '!limit reached');
    assert.equal(await ask('write', 'b'), NOT_HERE('write'));
  });

  it('says which recorded call answered, and fails like it', async () => {
    const { session, ask } = await open([ONE]);
    assert.deepEqual(await make(session, 'read', { key: 'a' }), {
      response: 1,
      source: 'recorded',
      recorded: { rollout: 'r1', seq: 3 },
    });
    await ask('write', 'a');
    await assert.rejects(make(session, 'write', { key: 'b' }), (error) => {
      assert.ok(error instanceof ClassedError);
      assert.deepEqual(
        [error.class, error.message, error.recorded],
        ['tool_error', 'limit reached', { place: { rollout: 'r1', seq: 13 }, response: '!limit reached' }],
      );
      return true;
    });
  });

  it('continues with whatever any attempt saw next', async () => {
    const two = attempt('r2', [
      ['write', 'a', 'ok'],
      ['write', 'c', 'done'],
    ]);
    const { ask, log } = await open([ONE, two]);
    assert.equal(await ask('write', 'a'), 'ok');
    assert.equal(await ask('read', 'a'), 10);
    assert.equal(await ask('write', 'c'), 'done');
    assert.equal(await ask('write', 'b'), NOT_HERE('write'), 'r1 did not call write c');
    assert.deepEqual(log, []);
  });

  it('chooses what most attempts saw, then the first, and stays with the attempts that saw it', async () => {
    const saw = (rollout: string, id: number, next: Json): RecordedAttempt =>
      attempt(rollout, [
        ['write', 'a', { id }],
        ['write', id, next],
        ['write', 'end', next],
      ]);
    const { ask, log } = await open([
      saw('r1', 1, 'one'),
      saw('r2', 2, 'two'),
      saw('r3', 2, 'three'),
      saw('r4', 3, 'four'),
    ]);
    assert.deepEqual(await ask('write', 'a'), { id: 2 });
    assert.equal(await ask('write', 2), 'two');
    assert.equal(await ask('write', 'end'), 'two', 'r2 is the only one whose responses are those of the session');
    assert.deepEqual(log, [
      'The recorded attempts differ here: 2 of 4 have this answer.\n',
      'The recorded attempts differ here: 1 of 2 has this answer.\n',
    ]);
  });

  it('still answers when the agent saw something else, and ignores calls that reached no tool', async () => {
    const { session, ask } = await open([ONE]);
    const call = { id: 'c', name: 'write', arguments: { key: 'a' } };
    session.observed(call, 'Error (tool_error): 503', { made: false, invented: true }); // a rule answered
    assert.equal(await ask('read', 'a'), 1);
    session.observed(call, 'cut off', { made: true, invented: true }); // a rule changed the result
    assert.equal(await ask('read', 'a'), 10);
  });

  it('continues after a resume and in a fork from the calls alone', async () => {
    const first = await open([ONE]);
    const seen: [string, Json, Json][] = [];
    for (const [name, key] of [
      ['read', 'a'],
      ['write', 'x'],
      ['write', 'a'],
      ['read', 'a'],
    ] as const)
      seen.push([name, key, await first.ask(name, key)]);
    const second = await open([ONE]);
    for (const [name, key, response] of seen)
      second.session.observed({ id: 'c', name, arguments: { key } }, response, MADE);
    assert.equal(await second.ask('read', 'a'), await first.ask('read', 'a'));
  });
});

describe('a world recorded by arguments, or by order', () => {
  const ONE = attempt('r1', [
    ['write', 'a', 1],
    ['write', 'b', 2],
    ['write', 'a', 3],
    ['read', 'a', 4],
  ]);

  it('answers the n-th call with the same arguments', async () => {
    const { ask } = await open([ONE], 'arguments');
    assert.deepEqual([await ask('write', 'b'), await ask('write', 'a'), await ask('write', 'a')], [2, 1, 3]);
    assert.equal(await ask('write', 'a'), NOT_HERE('write', 'with these arguments as often'));
    assert.deepEqual([await ask('read', 'a'), await ask('read', 'a')], [4, 4], 'reading again changes nothing');
  });

  it('compares arguments as JSON', async () => {
    const { session } = await open([attempt('r1', [['write', { a: 1, b: [1e2] }, 'ok']])], 'arguments');
    assert.equal(await ask(session, 'write', JSON.parse('{"key":{"b":[100.0],"a":1}}') as JsonObject), 'ok');
  });

  it('answers with the next call of the tool, whatever its arguments are', async () => {
    const { ask } = await open([ONE], 'order');
    assert.deepEqual([await ask('write', 'z'), await ask('read', 'y'), await ask('write', 'z')], [1, 4, 2]);
    assert.equal(await ask('write', 'z'), 3);
    assert.equal(await ask('write', 'z'), NOT_HERE('write', 'as often'));
  });
});

describe('the recordings of a task', () => {
  const ATTEMPTS = [
    attempt('r1', [['write', 'a', 'own']]),
    attempt('r2', [['write', 'a', 'of the question']], '7', 'Lend a book'),
    attempt('r3', [['write', 'a', 'of the question']], '8', 'Lend a book'),
  ];
  const cases: readonly (readonly [name: string, task: typeof TASK, response: string])[] = [
    ['are those of the same ID', TASK, 'own'],
    ['are those of the same question otherwise', { id: 't9', question: 'Lend a book' }, 'of the question'],
    ['are all otherwise', { id: 't9', question: 'Find a book' }, 'of the question'],
  ];
  for (const [name, task, response] of cases)
    it(name, async () => {
      assert.equal(await (await open(ATTEMPTS, 'sequence', { task })).ask('write', 'a'), response);
    });
});

describe('a world behind a recorded one', () => {
  it('answers the calls that no attempt has, knows all others, and goes on after a write', async () => {
    const seen: string[] = [];
    const otherwise: WorldSession = {
      specs: ['read', 'write', 'extra'].map((name) => ({
        name,
        description: 'other',
        parameters: { type: 'object' },
        effect: name === 'read' ? 'pure' : 'restorable',
        sessionBound: false,
        from: { kind: 'world', name: 'other' },
      })),
      call: ({ name }) => Promise.resolve({ response: `made up ${name} after ${seen.length}`, source: 'simulated' }),
      observed: ({ name }, response) => seen.push(`${name}: ${JSON.stringify(response)}`),
      close: () => Promise.resolve(),
    };
    const one = attempt('r1', [
      ['read', 'a', 1],
      ['write', 'a', 'ok'],
    ]);
    const { session, ask } = await open([one], 'sequence', { otherwise });
    assert.deepEqual(
      session.specs.map(({ name, description }) => `${name} ${description}`),
      ['read read', 'write write', 'extra other'],
    );
    assert.equal(await ask('read', 'b'), 'made up read after 0');
    assert.equal(await ask('read', 'a'), 1, 'reading something else changed nothing');
    assert.equal(await ask('write', 'b'), 'made up write after 2');
    assert.equal(await ask('write', 'a'), 'made up write after 3', 'nobody recorded what follows write b');
    assert.deepEqual(seen.slice(0, 2), ['read: "made up read after 0"', 'read: 1']);
  });
});
