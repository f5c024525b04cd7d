import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { checkEvent, type EventOf, INLINE_LIMIT, type TraceEvent } from '../../../src/trace/schema.ts';
import { blobsOf, type SpilledBlob, spill, unspill } from '../../../src/trace/spill.ts';
import { unescapeKeys } from '../../../src/trace/values/keys.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

const BIG = 'x'.repeat(INLINE_LIMIT + 1);

function result(value: Json): EventOf<'tool.end'> {
  const s = new Stream();
  s.add('tool.end', { status: 'ok', source: 'live', result: value });
  return s.events[0] as EventOf<'tool.end'>;
}

function readerOf(blobs: readonly SpilledBlob[]): (ref: { $blob: string }) => Promise<Uint8Array> {
  return (ref) => Promise.resolve(blobs.find((blob) => blob.sha === ref.$blob)!.bytes);
}

async function roundTrip<E extends TraceEvent>(
  event: E,
  own?: ReadonlySet<string>,
): Promise<{ stored: E; blobs: SpilledBlob[]; back: E }> {
  const { event: stored, blobs } = spill(event, own);
  assert.deepEqual(checkEvent(stored), { ok: true });
  for (const blob of blobs) assert.equal(blob.sha, createHash('sha256').update(blob.bytes).digest('hex'));
  return { stored, blobs, back: await unspill(JSON.parse(JSON.stringify(stored)) as E, readerOf(blobs)) };
}

describe('spill', () => {
  it('passes small events through unchanged', async () => {
    for (const event of lendingDesk().events) {
      const spilled = spill(event);
      assert.equal(spilled.event, event);
      assert.deepEqual(spilled.blobs, []);
      assert.equal(await unspill(event, () => Promise.reject(new Error('nothing to read'))), event);
    }
  });

  it('moves a value just over the limit and leaves one just under it', () => {
    assert.equal(spill(result('x'.repeat(INLINE_LIMIT - 2))).blobs.length, 0);
    assert.equal(spill(result('x'.repeat(INLINE_LIMIT - 1))).blobs.length, 1);
    assert.equal(spill(result('é'.repeat(INLINE_LIMIT / 2 - 1))).blobs.length, 0);
    assert.equal(spill(result('é'.repeat(INLINE_LIMIT / 2))).blobs.length, 1);
    assert.equal(spill(result('\u0001'.repeat(Math.ceil(INLINE_LIMIT / 6)))).blobs.length, 1);
  });

  it('moves what was predicted for a call', async () => {
    const s = new Stream();
    const prediction = { world: 'twin', how: 'shadow', response: { text: BIG, $own: 1 } } as const;
    s.add('score', { scorer: 'prediction', value: 1, passed: null, prediction }, { span: 1 });
    const { blobs, back } = await roundTrip(s.events[0] as EventOf<'score'>);
    assert.equal(blobs.length, 1);
    assert.deepEqual(back.data.prediction, prediction);
  });

  it('moves text as text and anything else as JSON, and restores both', async () => {
    const text = await roundTrip(result(BIG));
    assert.equal(text.blobs[0]!.media, 'text/plain');
    const ref = text.stored.data.result as { head: string; bytes: number };
    assert.deepEqual([ref.head.length, ref.bytes], [1024, BIG.length]);
    assert.equal(text.back.data.result, BIG);

    const value: Json = { rows: Array.from({ length: 5_000 }, (_, id) => ({ id, $ref: '#', name: `n${id}` })) };
    const json = await roundTrip(result(value));
    assert.equal(json.blobs[0]!.media, 'application/json');
    assert.deepEqual(json.back.data.result, value);
  });

  it('reaches every place that holds a value', async () => {
    const s = new Stream();
    s.message(
      'assistant',
      [
        { type: 'reasoning', content: BIG },
        { type: 'text', content: BIG },
        { type: 'tool_call', id: 'c', name: 'f', arguments: { a: BIG } },
      ],
      'sampled',
    );
    s.message('tool', [{ type: 'tool_call_response', id: 'c', response: BIG }], 'tool');
    s.add('message', { m: 3, role: 'user', parts: [], origin: 'given', headers: { $h: BIG } });
    s.toolStart('c', 'f', { a: BIG });
    s.diff([{ table: 't', key: 1, op: 'update', before: BIG, after: { $x: 1 } }]);
    s.add('edit', { of: { seq: 4 }, path: '/arguments', value: BIG });
    s.add('release', { how: 'continue', held_ms: 1, value: BIG });
    s.add('log', { stream: 'out', text: BIG });
    s.end({ answer: BIG });
    s.add('control', { command: 'c', verb: 'skip', by: 'me', args: { result: BIG }, result: BIG });
    s.add('model.start', { step: 1, context: [], sampling: { extra: BIG, $k: 1 } });
    for (const event of s.events) {
      const { stored, blobs, back } = await roundTrip(event);
      assert.ok(blobs.length > 0, event.kind);
      assert.ok(JSON.stringify(stored).length < 10_000, event.kind);
      assert.deepEqual(back, event);
      assert.deepEqual(new Set(blobsOf(stored)), new Set(blobs.map((blob) => blob.sha)));
    }
  });

  it('keeps what UTF-8 cannot represent', async () => {
    const odd = `\ud800 and \0 and \ufeff${BIG}`;
    const { back, blobs } = await roundTrip(result(odd));
    assert.equal(blobs[0]!.media, 'application/json');
    assert.equal(back.data.result, odd);
    const marked = `\ufeff${BIG}`;
    assert.equal((await roundTrip(result(marked))).back.data.result, marked);
  });

  it('does not split a pair of surrogates in the head', () => {
    const { event } = spill(result(`${'x'.repeat(1023)}😀${BIG}`));
    assert.equal((event.data.result as { head: string }).head, 'x'.repeat(1023));
  });

  it('keeps the bytes of an image under its own media type, and odd base64 as text', async () => {
    const bytes = Buffer.alloc(INLINE_LIMIT, 7);
    const image = (content: string): TraceEvent => {
      const s = new Stream();
      s.message('user', [{ type: 'blob', mime_type: 'image/png', content }]);
      return s.events[0]!;
    };
    const canonical = await roundTrip(image(bytes.toString('base64')));
    assert.equal(canonical.blobs[0]!.media, 'image/png');
    assert.deepEqual(Buffer.from(canonical.blobs[0]!.bytes), bytes);
    assert.deepEqual(canonical.back, image(bytes.toString('base64')));
    for (const odd of [`${bytes.toString('base64')}\n`, `not base64! ${BIG}`]) {
      const { blobs, back } = await roundTrip(image(odd));
      assert.equal(blobs[0]!.media, 'application/json');
      assert.deepEqual(back, image(odd));
    }
  });

  it("escapes users' $ keys at any depth, and never takes them for references", async () => {
    const value: Json = { $blob: 'mine', $$twice: [{ $ref: { plain: 1, $deep: null } }], ok: '$text' };
    const { stored, back, blobs } = await roundTrip(result(value));
    assert.deepEqual(stored.data.result, {
      $$blob: 'mine',
      $$$twice: [{ $$ref: { plain: 1, $$deep: null } }],
      ok: '$text',
    });
    assert.equal(blobs.length, 0);
    assert.deepEqual(back.data.result, value);
    assert.deepEqual(unescapeKeys(stored.data.result as Json), value);
    assert.deepEqual(blobsOf(stored), []);
  });

  it('keeps a key named __proto__ a key', async () => {
    const value = JSON.parse('{"__proto__": {"$a": 1}}') as Json;
    const { back } = await roundTrip(result(value));
    assert.equal(JSON.stringify(back.data.result), '{"__proto__":{"$a":1}}');
  });

  it('leaves references of the caller alone, even in a value that is too large', async () => {
    const sha = 'a'.repeat(64);
    const whole = { $blob: sha, bytes: 5, media: 'text/plain', head: 'h' };
    const small = await roundTrip(result({ text: 'cut', whole, $key: 1 }), new Set([sha]));
    assert.deepEqual(small.stored.data.result, { text: 'cut', whole, $$key: 1 });
    const big = spill(result({ text: BIG, whole }), new Set([sha]));
    assert.equal(big.blobs.length, 1);
    assert.deepEqual((big.event.data.result as { whole: unknown }).whole, whole);
    assert.deepEqual(new Set(blobsOf(big.event)), new Set([sha, big.blobs[0]!.sha]));
    assert.deepEqual(spill(result({ whole })).event.data.result, {
      whole: { $$blob: sha, bytes: 5, media: 'text/plain', head: 'h' },
    });
  });

  it('does not change its input', () => {
    const event = result({ $a: BIG });
    const before = structuredClone(event);
    spill(event);
    assert.deepEqual(event, before);
  });

  it('finds the blobs that our fields reference', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
    const s = new Stream();
    s.start({ config: a, code: b });
    s.add('world.snapshot', { snapshot: c, bytes: 1 });
    s.add('model.end', {
      status: 'ok',
      trainable: true,
      source: 'live',
      tokens: { $blob: a, bytes: 1, media: 'application/json', head: '' },
    });
    assert.deepEqual(s.events.map(blobsOf), [[a, b], [c], [a]]);
  });
});
