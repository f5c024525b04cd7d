import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { SPOOL_BYTES } from '../../../src/protocol/worker.ts';
import type { PendingBlob } from '../../../src/rollout/ports.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Outlet } from '../../../src/worker/outlet.ts';
import { Blobs } from '../../../src/worker/spool/blobs.ts';
import { Flusher } from '../../../src/worker/spool/flusher.ts';
import type { Loss } from '../../../src/worker/spool/spool.ts';
import { Spool } from '../../../src/worker/spool/spool.ts';

interface Frame {
  type: string;
  rollout: string;
  epoch: number;
  from: number;
  events: TraceEvent[];
  span: number;
  offset: number;
  text: string;
}

function event(seq: number, text = 'x'): TraceEvent {
  return { seq, v: 1, at: 1, kind: 'log', data: { stream: 'out', text } };
}

function blob(text: string): PendingBlob {
  const bytes = Buffer.from(text);
  return { sha: createHash('sha256').update(bytes).digest('hex'), bytes, media: 'text/plain' };
}

function outletOf(secrets: readonly string[]): Outlet {
  return new Outlet(Object.fromEntries(secrets.map((secret, index) => [`SECRET_${index}`, secret])));
}

/** A spool whose frames are kept, with manual flushes. */
function setup(
  options: {
    last?: number;
    secrets?: string[];
    put?: (sha: string, bytes: Uint8Array) => Promise<void>;
    watched?: boolean;
  } = {},
): {
  spool: Spool;
  frames: Frame[];
  losses: Loss[];
  flush: () => void;
  connect: (on: boolean) => void;
  seqs: () => number[][];
} {
  const frames: Frame[] = [];
  const losses: Loss[] = [];
  let connected = true;
  let dirty = false;
  const blobs = new Blobs(
    {
      getBlob: () => Promise.reject(new Error('none')),
      putBlob: (_rollout, sha, bytes) => options.put?.(sha, bytes) ?? Promise.resolve(),
    },
    new AbortController().signal,
  );
  const spool = new Spool({
    rollout: 'r1',
    epoch: 2,
    last: options.last ?? 0,
    blobs,
    outlet: outletOf(options.secrets ?? []),
    watched: options.watched ?? false,
    link: {
      sendText: (frame) => {
        if (connected) frames.push(JSON.parse(frame) as Frame);
        return connected;
      },
      soon: () => (dirty = true),
    },
    onLoss: (loss) => losses.push(loss),
  });
  return {
    spool,
    frames,
    losses,
    flush: () => {
      if (dirty) spool.flush();
      dirty = false;
    },
    connect: (on) => (connected = on),
    seqs: () => frames.filter((frame) => frame.type === 'append').map((frame) => frame.events.map((one) => one.seq)),
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Spool', () => {
  it('sends simultaneous events as one frame, and those before its ack as the next', () => {
    const { spool, frames, flush, seqs } = setup({ last: 4 });
    spool.append([event(5), event(6)], []);
    spool.append([event(7)], []);
    flush();
    assert.deepEqual(seqs(), [[5, 6, 7]]);
    assert.deepEqual([frames[0]?.from, frames[0]?.epoch, frames[0]?.rollout], [5, 2, 'r1']);
    spool.append([event(8)], []);
    flush();
    spool.append([event(9)], []);
    flush();
    assert.equal(frames.length, 1, 'they wait for the ack');
    spool.acked(7);
    flush();
    assert.deepEqual(seqs(), [
      [5, 6, 7],
      [8, 9],
    ]);
  });

  it('keeps frames below their limit, and appends whole', () => {
    const { spool, seqs } = setup();
    const long = 'y'.repeat(300_000);
    spool.append([event(1, long), event(2, long)], []);
    spool.append([event(3, long), event(4, long)], []);
    void spool.flushed();
    assert.deepEqual(seqs(), [
      [1, 2],
      [3, 4],
    ]);
  });

  it('splits an append that exceeds a frame', () => {
    const { spool, seqs } = setup();
    const long = 'y'.repeat(300_000);
    spool.append(
      [1, 2, 3, 4, 5].map((seq) => event(seq, long)),
      [],
    );
    void spool.flushed();
    assert.deepEqual(seqs(), [
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('reports when everything is stored, and flushes immediately for it', async () => {
    const { spool, frames } = setup();
    await spool.flushed();
    spool.append([event(1)], []);
    let done = false;
    const flushed = spool.flushed().then(() => (done = true));
    assert.equal(frames.length, 1);
    await settled();
    assert.equal(done, false);
    spool.acked(1);
    await flushed;
  });

  it('waits for room when the server does not keep up', async () => {
    const { spool } = setup();
    const megabyte = 'z'.repeat(900_000);
    let seq = 0;
    while (seq * 900_000 < SPOOL_BYTES) spool.append([event(++seq, megabyte)], []);
    let room = false;
    const waiting = spool.waitForRoom().then(() => (room = true));
    await settled();
    assert.equal(room, false);
    spool.flush();
    spool.acked(2);
    await waiting;
  });

  it('sends again from the last durable event after a reconnection', () => {
    const { spool, flush, connect, seqs, frames } = setup();
    spool.append([event(1), event(2)], []);
    flush();
    connect(false);
    spool.append([event(3)], []);
    flush();
    assert.deepEqual(seqs(), [[1, 2]]);
    connect(true);
    spool.resume(1);
    flush();
    assert.deepEqual(seqs(), [
      [1, 2],
      [2, 3],
    ]);
    assert.equal(frames[1]?.from, 2);
  });

  it('has nothing to resend when everything arrived', async () => {
    const { spool, flush, frames } = setup();
    spool.append([event(1)], []);
    flush();
    const flushed = spool.flushed();
    spool.resume(1);
    await flushed;
    flush();
    assert.equal(frames.length, 1);
  });

  it('resends once after a gap, when every frame in flight is answered', () => {
    const { spool, seqs, flush } = setup();
    spool.append([event(1)], []);
    flush();
    spool.append([event(2, 'y'.repeat(200_000))], []);
    flush();
    assert.deepEqual(seqs(), [[1], [2]]);
    spool.refused({ type: 'refuse', rollout: 'r1', code: 'gap', durable: 0, message: '' });
    flush();
    assert.equal(seqs().length, 2);
    spool.refused({ type: 'refuse', rollout: 'r1', code: 'gap', durable: 0, message: '' });
    flush();
    assert.deepEqual(seqs()[2], [1, 2]);
  });

  it('waits and retries when the disk is full', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { spool, seqs, flush } = setup();
    spool.append([event(1)], []);
    flush();
    spool.refused({ type: 'refuse', rollout: 'r1', code: 'full', durable: 0, message: 'no space' });
    flush();
    assert.equal(seqs().length, 1);
    t.mock.timers.tick(1000);
    flush();
    assert.deepEqual(seqs(), [[1], [1]]);
    spool.acked(1);
    await spool.flushed();
  });

  it('ends when another worker holds the rollout', async () => {
    const { spool, losses, frames, flush } = setup();
    spool.append([event(1)], []);
    const flushed = assert.rejects(spool.flushed());
    spool.refused({ type: 'refuse', rollout: 'r1', code: 'fenced', durable: 0, message: 'epoch 3 has it' });
    assert.deepEqual(losses, [{ code: 'fenced', message: 'epoch 3 has it', durable: 0 }]);
    await flushed;
    spool.append([event(2)], []);
    flush();
    await spool.waitForRoom();
    assert.equal(frames.length, 1);
  });

  it('stores blobs before the events that reference them, each once, and keeps the order', async () => {
    const stored: string[] = [];
    let store: () => void = () => undefined;
    const { spool, flush, seqs } = setup({
      put: (sha) => {
        stored.push(sha);
        return new Promise((resolve) => (store = resolve));
      },
    });
    const big = blob('big');
    spool.append([event(1)], []);
    spool.append([event(2)], [big]);
    spool.append([event(3)], [big]);
    flush();
    assert.deepEqual(seqs(), [[1]]);
    spool.acked(1);
    flush();
    assert.deepEqual(seqs(), [[1]], 'nothing overtakes the blob');
    store();
    await settled();
    flush();
    assert.deepEqual(seqs(), [[1], [2, 3]]);
    assert.deepEqual(stored, [big.sha]);
  });

  it('ends when the server rejects a blob', async () => {
    const { spool, losses } = setup({ put: () => Promise.reject(new Error('too large')) });
    spool.append([event(1)], [blob('big')]);
    await settled();
    assert.deepEqual(losses, [{ code: 'invalid', message: 'too large', durable: 0 }]);
  });

  it('says when a blob is refused for its size', async () => {
    const { spool, losses } = setup({ put: () => Promise.reject(new StudioError('too_large', 'too much')) });
    spool.append([event(1)], [blob('big')]);
    await settled();
    assert.deepEqual(losses, [{ code: 'too_large', message: 'too much', durable: 0 }]);
  });

  it('sends live text only while somebody watches, then from the beginning', () => {
    const { spool, frames } = setup();
    spool.delta(3, 'Hel');
    assert.equal(frames.length, 0);
    spool.watch(true);
    spool.delta(3, 'lo');
    assert.deepEqual(
      frames.map(({ type, span, offset, text }) => [type, span, offset, text]),
      [
        ['delta', 3, 0, 'Hel'],
        ['delta', 3, 3, 'lo'],
      ],
    );
    spool.append(
      [{ seq: 1, v: 1, at: 1, kind: 'model.end', span: 3, data: { status: 'ok', trainable: false, source: 'live' } }],
      [],
    );
    spool.watch(false);
    spool.watch(true);
    assert.equal(frames.length, 2, 'a span that ended has no live text');
  });
});

describe('redaction', () => {
  it('removes secrets from events and blobs, and updates references to the changed blob', () => {
    const clean = outletOf(['s3cret"key']);
    const holder = blob('{"token":"s3cret\\"key"}');
    const other = blob('nothing here');
    const events: TraceEvent[] = [
      {
        seq: 1,
        v: 1,
        at: 1,
        kind: 'message',
        data: {
          m: 1,
          role: 'user',
          origin: 'given',
          parts: [
            { type: 'text', content: 'the key is s3cret"key' },
            {
              type: 'text',
              content: { $blob: holder.sha, bytes: holder.bytes.length, media: 'x', head: 's3cret"key' },
            },
          ],
        },
      },
    ];
    const { texts, blobs } = clean.append(events, [holder, other]);
    assert.equal(texts[0]?.includes('s3cret'), false);
    const cleaned = blobs[0];
    assert.ok(cleaned !== undefined && cleaned.sha !== holder.sha);
    assert.equal(createHash('sha256').update(cleaned.bytes).digest('hex'), cleaned.sha);
    const parts = (JSON.parse(texts[0]) as { data: { parts: { content: { $blob: string; bytes: number } }[] } }).data
      .parts;
    assert.deepEqual([parts[1]?.content.$blob, parts[1]?.content.bytes], [cleaned.sha, cleaned.bytes.length]);
    assert.equal(blobs[1], other);
  });

  it('leaves every number of an event as it is, so that the event stays valid', () => {
    const clean = outletOf(['5432', '481516']);
    const events: TraceEvent[] = [
      {
        seq: 5432,
        v: 1,
        at: 481_516,
        kind: 'tool.start',
        data: {
          call: 'c',
          name: 'connect',
          arguments: { port: 5432, pin: 481_516, text: 'PIN 481516' },
          effect: 'pure',
        },
      },
    ];
    const ids = blob('{"prompt":{"ids":[481516,7]},"completion":[]}');
    const { texts, blobs } = clean.append(events, [{ ...ids, media: 'application/json' }]);
    assert.deepEqual(JSON.parse(texts[0] ?? ''), {
      ...events[0],
      data: { ...events[0]?.data, arguments: { port: 5432, pin: 481_516, text: 'PIN [redacted]' } },
    });
    assert.equal(blobs[0]?.sha, ids.sha);
  });

  it('shortens no binary, and no head that ends within a secret', () => {
    const clean = outletOf(['correct-horse-battery']);
    const binary = { ...blob(''), bytes: Buffer.from([0xff, ...Buffer.from('correct-horse-battery'), 0xfe]) };
    const whole = blob(`${'x'.repeat(10)}correct-horse-battery`);
    const head = 'x'.repeat(10) + 'correct-horse';
    const event: TraceEvent = {
      seq: 1,
      v: 1,
      at: 1,
      kind: 'tool.end',
      span: 1,
      data: {
        status: 'ok',
        ms: 1,
        source: 'live',
        result: { $blob: whole.sha, bytes: whole.bytes.length, media: 'text/plain', head },
      },
    };
    const { texts, blobs } = clean.append([event], [binary, whole]);
    assert.equal(Buffer.from(blobs[0]?.bytes ?? []).toString('latin1'), `\xff${'*'.repeat(21)}\xfe`);
    assert.match(texts[0] ?? '', /"head":"x{10}\[redacted\]"/);
  });

  it('removes secrets from every other frame, but not from the endpoint that the server looks up', () => {
    const outlet = new Outlet({ KEY: 'sk-echoed-by-the-endpoint' });
    assert.deepEqual(
      JSON.parse(
        outlet.frame({
          type: 'endpoint',
          endpoint: 'http://host/v1?key=sk-echoed-by-the-endpoint',
          what: 'denied',
          text: 'Incorrect API key provided: sk-echoed-by-the-endpoint',
        }),
      ),
      {
        type: 'endpoint',
        endpoint: 'http://host/v1?key=sk-echoed-by-the-endpoint',
        what: 'denied',
        text: 'Incorrect API key provided: [redacted]',
      },
    );
  });

  it('hides all values until a submission shows which are not secret', () => {
    const outlet = new Outlet({ VLLM_URL: 'http://host:8000/v1', KEY: 'open-sesame' });
    assert.equal(outlet.line('http://host:8000/v1 open-sesame'), '[redacted] [redacted]');
    outlet.learn({ names: ['VLLM_URL', 'KEY'], shown: ['VLLM_URL'] });
    assert.equal(outlet.line('http://host:8000/v1 open-sesame'), 'http://host:8000/v1 [redacted]');
    outlet.learn({ names: ['VLLM_URL', 'KEY'], shown: [] });
    assert.equal(outlet.line('http://host:8000/v1'), '[redacted]');
  });

  it('does nothing without secrets', () => {
    const blobs = [blob('x')];
    const unchanged = outletOf(['', 'abc']).append([event(1)], blobs);
    assert.equal(unchanged.blobs, blobs);
    assert.deepEqual(unchanged.texts, [JSON.stringify(event(1))]);
  });

  it('never splits a secret over two parts of live text', () => {
    const { spool, frames } = setup({ secrets: ['hunter2-hunter2'], watched: true });
    for (const piece of ['the password is hun', 'ter2-hun', `ter2, and then ${'more '.repeat(20)}`])
      spool.delta(1, piece);
    const text = frames.map((frame) => frame.text).join('');
    assert.match(text, /^the password is \[redacted\], and then more/);
  });
});

describe('Flusher', () => {
  it('flushes all spools with pending events, once', async () => {
    const flusher = new Flusher();
    const flushed: string[] = [];
    const fake = (name: string): Spool => ({ flush: () => flushed.push(name) }) as unknown as Spool;
    const a = fake('a');
    flusher.soon(a);
    flusher.soon(fake('b'));
    flusher.soon(a);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(flushed, ['a', 'b']);
  });
});
