/** What may be learned from a trajectory: conversations, and the variants of trainers, from hand-made events. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Conversation,
  conversationsOf,
  type WholeMessage,
} from '../../../../src/formats/training/conversations.ts';
import type { TrainingAttempt } from '../../../../src/formats/training/format.ts';
import { pairsSwift, pairsTrl } from '../../../../src/formats/training/pairs.ts';
import { sftOpenAi, sftSwift, sftTrl } from '../../../../src/formats/training/sft.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { Context, EventData, Part, TraceEvent } from '../../../../src/trace/schema.ts';
import { event } from '../../../support/trajectories.ts';
import { rolloutRow } from '../../host/rows.ts';

const text = (content: string): Part => ({ type: 'text', content });
const call = (id: string, args: string | Record<string, string>): Part => ({
  type: 'tool_call',
  id,
  name: 'find',
  arguments: args,
});

/** A rollout of one agent. Messages are numbered from 1 in the order in which they are added. */
class Story {
  readonly #events: TraceEvent[] = [event(1, 'rollout.start', { batch: 'b', task: 't', attempt: 1, try: 1 })];
  #m = 0;

  #next(): number {
    return this.#events.length + 1;
  }

  input(role: 'system' | 'user' | 'tool', ...parts: Part[]): this {
    this.#events.push(
      event(
        this.#next(),
        'message',
        { m: ++this.#m, role, origin: role === 'tool' ? 'tool' : 'given', parts },
        { agent: 'desk' },
      ),
    );
    return this;
  }

  reply(parts: Part[], end: Partial<EventData['model.end']> = {}, context: Context = [[1, this.#m]]): this {
    const span = this.#next();
    this.#events.push(
      event(span, 'model.start', { step: 1, context, sampling: {} }, { agent: 'desk' }),
      event(
        span + 1,
        'message',
        { m: ++this.#m, role: 'assistant', origin: 'sampled', parts },
        { agent: 'desk', span },
      ),
      event(
        span + 2,
        'model.end',
        { status: 'ok', m: this.#m, trainable: false, source: 'live', ...end },
        { agent: 'desk', span },
      ),
    );
    return this;
  }

  edit(m: number, parts: Part[]): this {
    this.#events.push(
      event(this.#next(), 'edit', { of: { m }, path: '/parts', value: [] }),
      event(this.#next() + 1, 'message', { m: ++this.#m, role: 'user', origin: 'edited', parts }, { agent: 'desk' }),
    );
    return this;
  }

  lease(how: 'fresh' | 'resumed'): this {
    this.#events.push(event(this.#next(), 'rollout.lease', { epoch: 2, worker: 'w', how }));
    return this;
  }

  conversations(): { all: Conversation[]; left: Record<string, number> } {
    const model = new TrajectoryModel();
    model.push(this.#events);
    const left: Record<string, number> = {};
    const messages = new Map(
      model.messages.map(({ m, event: { data } }): [number, WholeMessage] => [
        m,
        { m, role: data.role, parts: data.parts },
      ]),
    );
    const all = conversationsOf(model, messages, (why, count) => (left[why] = (left[why] ?? 0) + count));
    return { all, left };
  }

  attempt(): TrainingAttempt {
    return {
      row: rolloutRow(),
      model: 'm',
      tools: [],
      reward: 1,
      masked: false,
      imputed: false,
      group: { id: 'b/t', index: 0, member: 0, rewards: [1] },
      tokens: [],
      conversations: this.conversations().all,
    };
  }
}

const start = (): Story => new Story().input('system', text('Help.')).input('user', text('Where?'));
const response = (id: string): Part => ({ type: 'tool_call_response', id, response: 'shelf 3' });
const shape = ({ turns }: Conversation): string =>
  turns.map(({ message: { role }, loss }) => role[0] + (loss ? '+' : '')).join(' ');
const nothing = (): void => undefined;

describe('conversations for supervised training', () => {
  it('are one as long as each context begins with the messages before', () => {
    const { all, left } = start()
      .reply([call('1', { of: 'x' })])
      .input('tool', response('1'))
      .reply([text('There.')])
      .conversations();
    assert.deepEqual(all.map(shape), ['s u a+ t a+']);
    assert.deepEqual(left, {});
  });

  it('begin again after compaction, and train each reply once', () => {
    const { all } = start()
      .reply([call('1', { of: 'x' })])
      .input('tool', response('1'))
      .reply([text('Summary.')])
      .reply([text('There.')], {}, [
        [1, 2],
        [5, 5],
      ])
      .conversations();
    assert.deepEqual(all.map(shape), ['s u a+ t a+', 's u a a+']);
  });

  it('end before a reply that was truncated', () => {
    const story = start()
      .reply([text('One.')])
      .input('user', text('More?'))
      .reply([text('Tw')], { finish_reason: 'length' });
    const { all, left } = story
      .input('user', text('Go on.'))
      .reply([text('o.')])
      .conversations();
    assert.deepEqual(all.map(shape), ['s u a+']);
    assert.deepEqual(left, { 'truncated, or after a truncated reply': 2 });
  });

  it('end before a reply after an edit', () => {
    const { all, left } = start()
      .reply([text('One.')])
      .edit(2, [text('Whither?')])
      .reply([text('Two.')], {}, [
        [1, 1],
        [4, 4],
      ])
      .conversations();
    assert.deepEqual(all.map(shape), ['s u a+']);
    assert.equal(left['changed by a person, or after such a change'], 1);
  });

  it('end before a reply that was followed by a lost worker', () => {
    const { all, left } = start()
      .lease('fresh')
      .reply([text('One.')])
      .input('user', text('More?'))
      .reply([call('1', { of: 'x' })])
      .lease('resumed')
      .input('tool', response('1'))
      .reply([text('There.')])
      .conversations();
    assert.deepEqual(all.map(shape), ['s u a+']);
    assert.deepEqual(left, { 'followed by a lost worker, or after such a reply': 2 });
  });

  it('have no loss on calls that did not parse, in the way of each variant', () => {
    const attempt = start()
      .reply([text('Let me see.'), call('1', '{"of": ')])
      .input('tool', response('1'))
      .reply([{ type: 'reasoning', content: 'Again.' }, call('2', { of: 'x' })])
      .input('tool', response('2'))
      .reply([text('There.')])
      .attempt();
    assert.deepEqual(attempt.conversations.map(shape), ['s u a t a+ t a+']);
    const [line, ...more] = sftTrl.lines(attempt, nothing);
    assert.deepEqual(more, []);
    assert.equal((line?.['prompt'] as unknown[]).length, 4);
    assert.deepEqual(line?.['completion'], [
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'Again.',
        tool_calls: [{ id: '2', type: 'function', function: { name: 'find', arguments: { of: 'x' } } }],
      },
      { role: 'tool', tool_call_id: '2', name: 'find', content: 'shelf 3' },
      { role: 'assistant', content: 'There.' },
    ]);
    assert.deepEqual(sftSwift.lines(attempt, nothing), [
      {
        messages: [
          { role: 'system', content: 'Help.' },
          { role: 'user', content: 'Where?' },
          { role: 'assistant', content: 'Let me see.', loss: false },
          { role: 'tool_call', content: '{"name":"find","arguments":{"unparsable":"{\\"of\\": "}}', loss: false },
          { role: 'tool_response', content: 'shelf 3' },
          { role: 'assistant', content: '<think>\nAgain.\n</think>\n\n' },
          { role: 'tool_call', content: '{"name":"find","arguments":{"of":"x"}}' },
          { role: 'tool_response', content: 'shelf 3' },
          { role: 'assistant', content: 'There.' },
        ],
      },
    ]);
    const left: string[] = [];
    assert.deepEqual(
      sftOpenAi.lines(attempt, (why) => left.push(why)),
      [],
    );
    assert.equal(left.length, 1, 'its first reply must not be trained, and OpenAI messages have no flag');
  });

  it('make a line for each run of replies that may be trained, for TRL', () => {
    const attempt = start()
      .reply([text('One.')])
      .input('user', text('More?'))
      .reply([call('1', 'not JSON')])
      .input('tool', response('1'))
      .reply([text('Two.')])
      .attempt();
    const lines = sftTrl.lines(attempt, nothing);
    assert.deepEqual(
      lines.map(({ prompt, completion }) => [(prompt as unknown[]).length, (completion as unknown[]).length]),
      [
        [2, 1],
        [6, 1],
      ],
    );
  });
});

describe('preference pairs', () => {
  const good = start()
    .reply([text('Shelf 3.')])
    .attempt();
  const bad = start()
    .reply([text('No idea.')])
    .attempt();

  it('have the messages before the first reply as prompt', () => {
    assert.deepEqual(pairsTrl.lines([good, bad], nothing), [
      {
        prompt: [
          { role: 'system', content: 'Help.' },
          { role: 'user', content: 'Where?' },
        ],
        chosen: [{ role: 'assistant', content: 'Shelf 3.' }],
        rejected: [{ role: 'assistant', content: 'No idea.' }],
        tools: '[]',
      },
    ]);
    const [line] = pairsSwift.lines([good, bad], nothing);
    assert.deepEqual(
      [line?.['messages'], line?.['rejected_messages']].map((all) => (all as { content: string }[]).at(-1)?.content),
      ['Shelf 3.', 'No idea.'],
    );
  });

  it('are of the best and the worst attempt; none if all are the same', () => {
    const pick = (...rewards: (number | null)[]): readonly number[] | undefined => pairsTrl.pick?.(rewards);
    assert.deepEqual(pick(0.5, null, 1, 0, 1), [2, 3]);
    assert.deepEqual(pick(1, 1, null), []);
    assert.deepEqual(pick(), []);
  });

  it('say why there is none', () => {
    const whys: string[] = [];
    const other = new Story()
      .input('user', text('When?'))
      .reply([text('Now.')])
      .attempt();
    for (const pair of [
      [good, other],
      [good, good],
      [good, { ...bad, conversations: [] }],
    ])
      assert.deepEqual(
        pairsTrl.lines(pair, (why) => whys.push(why)),
        [],
      );
    assert.match(whys.join('; '), /begin with different messages; .* are equal; .* nothing to learn/);
  });
});
