/** An imported batch whose attempts have captured tokens, as an endpoint that returns them leaves behind. */

import { sha256Hex } from '../../../src/common/hash.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { TokenRecord, TraceEvent } from '../../../src/trace/schema.ts';
import { tasks } from '../../support/rolloutServer.ts';
import { event } from '../../support/trajectories.ts';

export interface TokenShape {
  readonly tasks: number;
  /** Of each task. */
  readonly attempts: number;
  /** Model calls of each attempt. */
  readonly calls: number;
}

const PROMPT = 400;
const COMPLETION = 60;
/** Tokens of a tool's result, and of the frame around it. */
const RESULT = 40;
const AT_ONCE = 32;

/** Small, fast, and the same on each run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Returns the ID of the batch. */
export async function importTokens(api: Api, shape: TokenShape): Promise<string> {
  const batch = newId('b');
  const source = new TextEncoder().encode('the file it came from');
  const submission = sha256Hex(source);
  await api.putBlob(submission, source);
  await api.createBatch({
    batch,
    submission,
    open: false,
    tasks: tasks(shape.tasks),
    secrets: {},
    imported: { name: 'tokens', attempts: shape.attempts },
  });
  const all = Array.from({ length: shape.tasks * shape.attempts }, (_, index) => index);
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const attempts = await Promise.all(
      all.slice(at, at + AT_ONCE).map(async (index) => {
        const [task, attempt] = [Math.floor(index / shape.attempts), (index % shape.attempts) + 1];
        const events = await eventsOf(api, { batch, task: `t${task + 1}`, attempt }, shape.calls, index);
        return { rollout: newId('r'), task: `t${task + 1}`, attempt, events };
      }),
    );
    await api.importRollouts(batch, attempts);
  }
  return batch;
}

async function eventsOf(
  api: Api,
  of: { readonly batch: string; readonly task: string; readonly attempt: number },
  calls: number,
  seed: number,
): Promise<TraceEvent[]> {
  const next = random(seed + 1);
  const ids = (length: number): number[] => Array.from({ length }, () => Math.floor(next() * 150_000));
  const events: TraceEvent[] = [
    event(1, 'rollout.start', { ...of, try: 1, model: 'policy' }),
    event(2, 'message', { m: 1, role: 'user', origin: 'given', parts: [{ type: 'text', content: 'Find the book.' }] }),
  ];
  let [m, before] = [1, 0];
  let length = 0;
  for (let step = 1; step <= calls; step++) {
    const span = events.length + 1;
    const record: TokenRecord = {
      prompt: before === 0 ? { ids: ids(PROMPT) } : { of: before, keep: length, ids: ids(RESULT) },
      completion: ids(COMPLETION),
      logprobs: Buffer.from(Float32Array.from({ length: COMPLETION }, () => -next()).buffer).toString('base64'),
    };
    length += (before === 0 ? PROMPT : RESULT) + COMPLETION;
    const bytes = new TextEncoder().encode(JSON.stringify(record));
    const sha = sha256Hex(bytes);
    await api.putBlob(sha, bytes);
    const id = `call-${step}`;
    events.push(
      event(span, 'model.start', { step, context: [[1, m]], sampling: { temperature: 1 }, model: 'policy' }),
      event(
        span + 1,
        'message',
        {
          m: ++m,
          role: 'assistant',
          origin: 'sampled',
          parts: [
            { type: 'text', content: `Looking at shelf ${step}. `.repeat(4) },
            { type: 'tool_call', id, name: 'find', arguments: { shelf: step } },
          ],
        },
        { span },
      ),
      event(
        span + 2,
        'model.end',
        {
          status: 'ok',
          m,
          trainable: true,
          source: 'live',
          finish_reason: 'tool_calls',
          ms: 900,
          usage: { input_tokens: length - COMPLETION, output_tokens: COMPLETION },
          tokens: { $blob: sha, bytes: bytes.length, media: 'application/json', head: '' },
        },
        { span },
      ),
      event(span + 3, 'tool.start', { call: id, name: 'find', arguments: { shelf: step }, effect: 'pure' }),
      event(
        span + 4,
        'message',
        {
          m: ++m,
          role: 'tool',
          origin: 'tool',
          parts: [{ type: 'tool_call_response', id, response: `Nothing on shelf ${step}, but a note. `.repeat(4) }],
        },
        { span: span + 3 },
      ),
      event(span + 5, 'tool.end', { status: 'ok', m, source: 'live', ms: 3 }, { span: span + 3 }),
    );
    before = span;
  }
  const passed = seed % 3 === 0;
  events.push(
    event(events.length + 1, 'rollout.end', {
      status: 'done',
      passed,
      reward: passed ? 1 : 0,
      answer: null,
      touched: false,
      totals: { steps: calls, tool_calls: calls },
      fingerprint: sha256Hex(`${of.task} ${of.attempt}`),
    }),
  );
  return events;
}
