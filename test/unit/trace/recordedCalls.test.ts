/** The calls of a trajectory as a recorded world answers them: which calls count, and with what answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Json } from '../../../src/common/json.ts';
import { ANSWER_TOOL } from '../../../src/trace/answerTool.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { ToolBook } from '../../../src/trace/recordedCalls/definitions.ts';
import { readRecordedCalls } from '../../../src/trace/recordedCalls/read.ts';
import type { EventData, Part } from '../../../src/trace/schema.ts';
import { spill } from '../../../src/trace/spill.ts';
import { Stream } from '../../support/stream.ts';

type End = Partial<EventData['tool.end']>;
const blobs = new Map<string, Uint8Array>();

/** A stream whose long values are in `blobs`. */
class Recording extends Stream {
  #calls = 0;

  /** A call with the response that the agent saw. Returns the seqs of its start and its end. */
  call(name: string, args: Json, response: Json | undefined, end: End = {}, more: Part[] = []): readonly number[] {
    const id = `c${++this.#calls}`;
    const start = this.add('tool.start', { call: id, name, arguments: args, effect: 'restorable' });
    const parts: Part[] = [{ type: 'tool_call_response', id, response: response ?? null }, ...more];
    const m = response === undefined ? undefined : this.message('tool', parts, 'tool', { span: start });
    const data = { status: 'ok', source: 'live', ...(m === undefined ? {} : { m }), ...end } as const;
    return [start, this.add('tool.end', data, { span: start })];
  }

  async read() {
    const model = new TrajectoryModel();
    model.push(
      this.events.map((event) => {
        const spilled = spill(event, new Set(blobs.keys()));
        for (const { sha, bytes } of spilled.blobs) blobs.set(sha, bytes);
        return spilled.event;
      }),
    );
    return readRecordedCalls(model, {
      read: ({ $blob }) => {
        const bytes = blobs.get($blob);
        return bytes === undefined
          ? Promise.reject(new StudioError('not_found', `no blob ${$blob}`))
          : Promise.resolve(bytes);
      },
      keep: (bytes) => {
        kept.push(JSON.parse(new TextDecoder().decode(bytes)) as Json);
        return Promise.resolve('f'.repeat(64));
      },
    });
  }
}
const kept: Json[] = [];

const answers = (calls: Awaited<ReturnType<Recording['read']>>['calls']): Json[] =>
  calls.map(({ name, arguments: args, answer }) => [name, args, (answer ?? null) as Json]);

describe('the recorded calls of a trajectory', () => {
  it('have the answers of the tools, whatever rules and people made of them', async () => {
    const stream = new Recording();
    stream.start();
    stream.model('');
    stream.call('find', { title: 'Emma' }, [{ id: 1 }]);
    stream.call('image', {}, 'here', {}, [{ type: 'blob', mime_type: 'image/png', content: 'AAAA' }]);
    stream.call('lend', { id: 1 }, 'Error: it is lent.\nTry another one.', {
      status: 'error',
      error: { class: 'tool_error', message: 'Error: it is lent.' },
    });
    stream.call('list', {}, ['one', '…'], { injected: 'page', result: ['one', 'two'] });
    const output = 'x'.repeat(100);
    const cut = { $blob: 'c'.repeat(64), bytes: 100, media: 'text/plain', head: 'x' };
    blobs.set(cut.$blob, new TextEncoder().encode(output));
    stream.call('shell', {}, 'x\n[99 bytes were cut off]', { cut: 99, result: cut });
    // A person changed the arguments before a call, and the result after it.
    const [start = 0] = stream.call('renew', { id: 2 }, 'renewed');
    stream.add('edit', { of: { m: stream.m }, path: '/parts/0/response', value: 'lost' });
    const edited: Part[] = [{ type: 'tool_call_response', id: 'c6', response: 'lost' }];
    stream.message('tool', edited, 'edited');
    assert.ok(start > 0);

    const { calls, lost } = await stream.read();
    assert.equal(lost, 0);
    assert.deepEqual(answers(calls), [
      ['find', { title: 'Emma' }, { response: [{ id: 1 }] }],
      ['image', {}, { response: 'here', parts: [{ type: 'blob', mime_type: 'image/png', content: 'AAAA' }] }],
      [
        'lend',
        { id: 1 },
        {
          response: 'Error: it is lent.\nTry another one.',
          error: { class: 'tool_error', message: 'Error: it is lent.' },
        },
      ],
      ['list', {}, { response: ['one', 'two'] }],
      ['shell', {}, { response: 'x\n[99 bytes were cut off]' }],
      ['renew', { id: 2 }, { response: 'renewed' }],
    ]);
  });

  it('have the arguments as they were edited', async () => {
    const stream = new Recording();
    stream.start();
    const start = stream.add('tool.start', { call: 'c1', name: 'lend', arguments: { id: 1 }, effect: 'restorable' });
    stream.add('edit', { of: { seq: start }, path: '/arguments/id', value: 2 });
    const m = stream.message('tool', [{ type: 'tool_call_response', id: 'c1', response: 'ok' }], 'tool', {
      span: start,
    });
    stream.add('tool.end', { status: 'ok', source: 'live', m }, { span: start });
    assert.deepEqual(answers((await stream.read()).calls), [['lend', { id: 2 }, { response: 'ok' }]]);
  });

  it('are none of those that no tool answered', async () => {
    const stream = new Recording();
    stream.start();
    const error = (of: 'timeout' | 'invalid_arguments' | 'world_error' | 'infrastructure'): End => ({
      status: 'error',
      error: { class: of, message: 'no' },
    });
    stream.call('a', {}, 'slow', error('timeout'));
    stream.call('b', {}, 'what?', error('invalid_arguments'));
    stream.call('c', {}, 'broken', error('world_error'));
    stream.call('d', {}, undefined, error('infrastructure'));
    stream.call('e', {}, '503', { ...error('timeout'), injected: 'slow', made: false });
    stream.call('f', {}, 'by a person', { source: 'edited' });
    stream.call('g', {}, undefined, { status: 'cut' });
    stream.call('hand_off_to_clerk', {}, 'done');
    const start = stream.add('tool.start', { call: 'x', name: 'ask_clerk', arguments: {}, effect: 'pure' });
    stream.add('agent.start', { how: 'parallel' }, { agent: 'desk/clerk', parent: start });
    stream.add('tool.end', { status: 'ok', source: 'live' }, { span: start });
    stream.add('tool.start', { call: 'y', name: 'open', arguments: {}, effect: 'pure' });
    assert.deepEqual(await stream.read(), { calls: [], definitions: [], lost: 0, open: 2 });
  });

  it('keep long answers apart, and say which values the store has lost', async () => {
    const stream = new Recording();
    stream.start();
    const long = 'y'.repeat(300_000);
    stream.call('long', {}, long);
    stream.call('lost', { key: 1 }, 'z'.repeat(70_000));
    stream.call('unknown', { text: 'w'.repeat(70_000) }, 'ok');
    const lost = (value: string): boolean =>
      blobs.delete([...blobs].find(([, bytes]) => new TextDecoder().decode(bytes).includes(value))?.[0] ?? '');
    await stream.read();
    assert.ok(lost('zzz') && lost('www'));
    // The events are spilled again, so what is lost is lost after that.
    const model = new TrajectoryModel();
    model.push(stream.events.map((event) => spill(event).event));
    const read = await readRecordedCalls(model, {
      read: ({ $blob }) => {
        const bytes = blobs.get($blob);
        return bytes === undefined ? Promise.reject(new StudioError('gone', 'gone')) : Promise.resolve(bytes);
      },
      keep: () => Promise.resolve('f'.repeat(64)),
    });
    assert.equal(read.lost, 2);
    assert.deepEqual(
      read.calls.map(({ name, answer, long: kept }) => [name, answer, kept?.blob]),
      [
        ['long', undefined, 'f'.repeat(64)],
        ['lost', undefined, undefined],
      ],
    );
    assert.deepEqual(kept.at(-1), { response: long });
  });

  it('come with the definitions that the agents had, without those of other agents and of the answer', async () => {
    const tools = [
      { name: 'find', description: 'Finds books.', parameters: { type: 'object', properties: { title: {} } } },
      { name: 'submit', description: ANSWER_TOOL, parameters: { type: 'object' } },
      { name: 'hand_off_to_clerk', description: 'Hands off.', parameters: { type: 'object' } },
    ];
    const sha = 'd'.repeat(64);
    blobs.set(sha, new TextEncoder().encode(JSON.stringify(tools)));
    const stream = new Recording();
    stream.start();
    for (const list of [sha, 'e'.repeat(64)])
      stream.add('model.start', { step: 1, context: [], sampling: {}, tools: list });
    stream.call('find', { title: 'Emma' }, []);
    stream.call('submit', { answer: '1' }, 'The answer was submitted.');
    const { calls, definitions } = await stream.read();
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['find'],
    );
    assert.deepEqual(definitions, [tools[0]]);
  });
});

describe('the tools of recordings', () => {
  it('are inferred from all calls where no agent had a definition', () => {
    const book = new ToolBook();
    book.called([
      { name: 'find', arguments: { title: 'Emma', page: 1, exact: true }, pure: true },
      { name: 'find', arguments: { title: null, page: 1.5, tags: ['a'], more: {} }, pure: true },
    ]);
    book.called([{ name: 'lend', arguments: { id: 1 } }]);
    book.define([{ name: 'lend', description: 'Lends.', parameters: { type: 'object' } }]);
    assert.deepEqual(book.tools, [
      { name: 'lend', description: 'Lends.', parameters: { type: 'object' } },
      {
        name: 'find',
        description: '',
        parameters: {
          type: 'object',
          properties: {
            title: { type: ['null', 'string'] },
            page: { type: 'number' },
            exact: { type: 'boolean' },
            tags: { type: 'array' },
            more: { type: 'object' },
          },
          required: ['title', 'page'],
        },
        pure: true,
      },
    ]);
  });
});
