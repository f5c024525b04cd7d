/** Rows for trainers, from records as the worker writes them, against full prompts that are compared token by token. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TokenChain } from '../../../../src/rollout/log/tokens.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { EventData, TokenRecord, TraceEvent } from '../../../../src/trace/schema.ts';
import { segmentsOf } from '../../../../src/trace/segments/segments.ts';
import { Random } from '../../../support/random.ts';
import { event, shaOf } from '../../../support/trajectories.ts';

interface Call {
  readonly agent: string;
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
  readonly end?: Partial<EventData['model.end']>;
  /** The worker does not know the calls before it, as after a takeover that could not read them. */
  readonly alone?: boolean;
}

const logprob = (id: number): number => -id / 16; // exact in float32

/** A rollout with these calls, one after another. */
class Recording {
  readonly model = new TrajectoryModel();
  readonly tokens = new Map<number, TokenRecord>();
  readonly #chains = new Map<string, TokenChain>();
  #seq = 0;

  constructor() {
    this.#push([event(1, 'rollout.start', { batch: 'b', task: 't', attempt: 1, try: 1 })]);
  }

  add({ agent, prompt, completion, end = {}, alone = false }: Call): number {
    const span = this.#seq + 1;
    if (alone || !this.#chains.has(agent)) this.#chains.set(agent, new TokenChain(shaOf, () => Promise.reject()));
    const { ref, blob } = this.#chains.get(agent)!.write(span, {
      prompt,
      completion,
      logprobs: Float32Array.from(completion, logprob),
    });
    this.tokens.set(span, JSON.parse(new TextDecoder().decode(blob.bytes)) as TokenRecord);
    this.#push([
      event(span, 'model.start', { step: 1, context: [[1, 1]], sampling: {} }, { agent }),
      event(
        span + 1,
        'model.end',
        { status: 'ok', trainable: true, source: 'live', tokens: ref, ...end },
        { agent, span },
      ),
    ]);
    return span;
  }

  #push(events: readonly TraceEvent[]): void {
    this.model.push(events);
    this.#seq = this.model.last;
  }
}

describe('segments', () => {
  it('have a row as long as each prompt begins with all tokens before it', () => {
    const recording = new Recording();
    const first = recording.add({ agent: 'desk', prompt: [1, 2, 3], completion: [4, 5], end: { weights: '7' } });
    const second = recording.add({ agent: 'desk', prompt: [1, 2, 3, 4, 5, 6], completion: [7] });
    const { rows, left_out: leftOut } = segmentsOf(recording.model, recording.tokens);
    assert.deepEqual(rows, [
      {
        agent: 'desk',
        prompt_ids: [1, 2, 3],
        response_ids: [4, 5, 6, 7],
        response_mask: [1, 1, 0, 1],
        response_logprobs: [logprob(4), logprob(5), 0, logprob(7)],
        calls: [
          { seq: first, from: 0, to: 2, weights: '7', trainable: true },
          { seq: second, from: 3, to: 4, trainable: true },
        ],
      },
    ]);
    assert.deepEqual(leftOut, []);
  });

  it('begin a new row at the first token that differs', () => {
    const recording = new Recording();
    recording.add({ agent: 'desk', prompt: [1, 2], completion: [3, 4] });
    recording.add({ agent: 'desk', prompt: [1, 2, 3, 9, 8], completion: [7] });
    recording.add({ agent: 'desk', prompt: [1, 2, 3], completion: [6] });
    const { rows } = segmentsOf(recording.model, recording.tokens);
    assert.deepEqual(
      rows.map(({ prompt_ids: prompt, response_ids: response, split }) => [prompt, response, split]),
      [
        [[1, 2], [3, 4], undefined],
        [[1, 2, 3, 9, 8], [7], { why: 'tokens', at: 3, was: 4, is: 9 }],
        [[1, 2, 3], [6], { why: 'tokens', at: 3, was: 9, is: undefined }],
      ],
    );
  });

  it('mask what cannot be trained on, and say why', () => {
    const recording = new Recording();
    recording.add({
      agent: 'desk',
      prompt: [1],
      completion: [2],
      end: { trainable: false, why_not: 'the endpoint returned other tokens' },
    });
    recording.add({ agent: 'desk', prompt: [1, 2], completion: [3] });
    const { rows } = segmentsOf(recording.model, recording.tokens);
    assert.deepEqual(
      rows.map((row) => [row.response_mask, row.response_logprobs, row.calls.map(({ why_not: why }) => why)]),
      [
        [
          [0, 1],
          [0, logprob(3)],
          ['the endpoint returned other tokens', undefined],
        ],
      ],
    );
  });

  it('leave out calls without tokens, and those that depend on them', () => {
    const recording = new Recording();
    const first = recording.add({ agent: 'desk', prompt: [1], completion: [2] });
    const second = recording.add({ agent: 'desk', prompt: [1, 2], completion: [3] });
    recording.tokens.delete(first);
    const { rows, left_out: leftOut } = segmentsOf(recording.model, recording.tokens);
    assert.deepEqual(rows, []);
    assert.deepEqual(
      leftOut.map(({ seq }) => seq),
      [first, second],
    );
  });

  it('contain the captured completions in order, whatever the prompts are', (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    const whole = (most: number): number => Math.floor(random.next() * most);
    const ids = (count: number): number[] => Array.from({ length: count }, () => whole(5));
    for (let round = 0; round < 300; round++) {
      const recording = new Recording();
      const calls: (Call & { span: number })[] = [];
      const last = new Map<string, Call>();
      for (let index = 0; index < 12; index++) {
        const agent = ['desk', 'desk/searcher', 'desk/searcher#2'][whole(3)]!;
        const before = [...(last.get(agent)?.prompt ?? []), ...(last.get(agent)?.completion ?? [])];
        const start = random.next() < 0.7 ? before : before.slice(0, whole(before.length + 1));
        const call: Call = {
          agent,
          prompt: [...start, ...ids(whole(4))],
          completion: ids(whole(4)),
          ...(random.next() < 0.1 ? { alone: true } : {}),
          ...(random.next() < 0.2 ? { end: { trainable: false, why_not: 'for a test' } } : {}),
        };
        calls.push({ ...call, span: recording.add(call) });
        last.set(agent, call);
      }
      const { rows, left_out: leftOut } = segmentsOf(recording.model, recording.tokens);
      assert.deepEqual(leftOut, []);
      for (const agent of new Set(calls.map((call) => call.agent))) {
        const own = calls.filter((call) => call.agent === agent);
        const expected: { ids: number[]; calls: number[] }[] = [];
        for (const { prompt, completion, span } of own) {
          const row = expected.at(-1);
          const continues = row !== undefined && row.ids.every((id, at) => prompt[at] === id);
          if (continues) {
            row.ids = [...prompt, ...completion];
            row.calls.push(span);
          } else expected.push({ ids: [...prompt, ...completion], calls: [span] });
        }
        const actual = rows.filter((row) => row.agent === agent);
        assert.deepEqual(
          actual.map((row) => ({
            ids: [...row.prompt_ids, ...row.response_ids],
            calls: row.calls.map(({ seq }) => seq),
          })),
          expected,
        );
        assert.deepEqual(
          actual.flatMap((row) => row.response_ids.filter((_, at) => row.response_mask[at] === 1)),
          own.filter(({ end }) => end === undefined).flatMap(({ completion }) => completion),
        );
        for (const { response_ids: response, response_mask: mask, response_logprobs: logprobs } of actual)
          assert.deepEqual(
            logprobs,
            response.map((id, at) => (mask[at] === 1 ? logprob(id) : 0)),
          );
      }
    }
  });
});
