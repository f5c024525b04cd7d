/** What the tokens of workers are worth: nothing but what their session holds, while it is open. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { FakeWorker, openingEvents } from '../support/fakeWorker.ts';
import { blobOf, plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

describe('tokens of workers', () => {
  const store = new TestStore();
  let server: TestServer;
  before(async () => {
    server = await store.start();
  });
  after(() => store[Symbol.asyncDispose]());

  const status = async (pathname: string, token: string): Promise<number> =>
    (await server.fetch(pathname, { token })).status;

  test('the enrollment token opens sessions, and reads nothing', async () => {
    const batch = await server.submit(plainSubmission(), tasks(1));
    const enrollment = await server.workerToken(batch);
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    const stream = `/v1/streams/${grant!.rollout}/events`;
    const blob = `/v1/blobs/${grant!.submission}`;
    assert.deepEqual([await status(stream, enrollment), await status(blob, enrollment)], [403, 403]);
    const { token } = worker.welcome;
    assert.deepEqual([await status(stream, token), await status(blob, token)], [200, 200]);
    // A session opens no other.
    await assert.rejects(FakeWorker.connect(server.url, token), /403/);
  });

  test('a session reads the streams and blobs of its own rollouts, and no others', async () => {
    const blobs = await Promise.all(
      ['attached to one', 'attached to the other', 'in one stream', 'in the other stream', 'of nobody'].map(
        async (content) => {
          const { sha, bytes } = blobOf(content);
          await server.api.putBlob(sha, bytes);
          return sha;
        },
      ),
    );
    const files = (index: number) => [{ name: 'x', sha: blobs[index]!, bytes: 1 }];
    const [one, two] = tasks(2);
    const batch = await server.submit(plainSubmission({ attempts: 1 }), [
      { ...one!, files: files(0) },
      { ...two!, files: files(1) },
    ]);
    const [worker, other] = [await server.worker(batch), await server.worker(batch)];
    const [[grant], [theirs]] = [await worker.lease(1), await other.lease(1)];
    const spilled = (seq: number, sha: string): TraceEvent => {
      const text = { $blob: sha, bytes: 1, media: 'text/plain', head: '' };
      return { seq, v: 1, at: 1, kind: 'log', data: { stream: 'out', text } };
    };
    await worker.appendAcked(grant!, [...openingEvents(grant!), spilled(3, blobs[2]!)]);
    await other.appendAcked(theirs!, [...openingEvents(theirs!), spilled(3, blobs[3]!)]);
    const { token } = worker.welcome;
    const reads = await Promise.all(blobs.map((sha) => status(`/v1/blobs/${sha}`, token)));
    assert.deepEqual(reads, [200, 403, 200, 403, 403]);
    const streams = [grant!.rollout, theirs!.rollout, batch];
    const read = await Promise.all(streams.map((stream) => status(`/v1/streams/${stream}/events`, token)));
    assert.deepEqual(read, [200, 403, 403]);
    // What it appends later, it may read as well.
    await worker.appendAcked(grant!, [spilled(4, blobs[4]!)]);
    assert.equal(await status(`/v1/blobs/${blobs[4]!}`, token), 200);
    const { sha, bytes } = blobOf('something new');
    const put = async (by: string): Promise<number> =>
      (await server.fetch(`/v1/blobs/${sha}`, { method: 'PUT', body: Buffer.from(bytes), token: by })).status;
    assert.equal(await put((await server.worker(batch)).welcome.token), 403, 'it holds nothing');
    assert.equal(await put(token), 200);
  });

  test('a session reads the verifiers of a scenario only while it scores a task of it', async () => {
    const put = async (text: string): Promise<string> => {
      const { sha, bytes } = blobOf(text);
      await server.api.putBlob(sha, bytes);
      return sha;
    };
    const scenario = async (name: string) => ({
      code: await put('code'),
      template: await put('template'),
      place: { file: 'gen_envs.jsonl', line: 1 },
      verifiers: await put(`verifiers of ${name}`),
    });
    const scenarios = { a: await scenario('a'), b: await scenario('b') };
    const submission = plainSubmission({
      attempts: 1,
      world: {
        name: 'shelves',
        file: 'shelves.world.yaml',
        kind: 'code',
        format: 'awm',
        expose: 'tools',
        verifier: 'code',
        rewards: { complete: 1, partial: 0.1, agent_error: 0, format: -1, environment_error: null },
        session: { memory_mb: 512, network: 'none' },
        perturb: [],
        scenarios,
      },
    });
    const [one] = tasks(1);
    const batch = await server.submit(submission, [{ ...one!, world: { scenario: 'a' } }]);
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    const read = (): Promise<number[]> =>
      Promise.all(
        [scenarios.a.code, scenarios.a.template, scenarios.a.verifiers, scenarios.b.verifiers].map((sha) =>
          status(`/v1/blobs/${sha}`, worker.welcome.token),
        ),
      );
    assert.deepEqual(await read(), [200, 200, 403, 403]);
    const { rollout, epoch } = grant!;
    worker.send({ type: 'scoring', rollout, epoch });
    await worker.frames.next('scoring');
    assert.deepEqual(await read(), [200, 200, 200, 403]);
  });

  test('what a rollout stores as blobs is limited, whatever others store, also after a restart', async () => {
    await using other = new TestStore();
    const options = ['--executor', 'none', '--rollout-gb', '0.000001'];
    let limited = await other.start(options);
    const batch = await limited.submit(plainSubmission({ attempts: 1 }), tasks(2));
    let worker = await limited.worker(batch);
    const [one, two] = await worker.lease(2);
    const put = async (rollout: string, text: string, claimed = text): Promise<readonly [number, string]> => {
      const { bytes } = blobOf(text);
      const { sha } = blobOf(claimed);
      const response = await limited.fetch(`/v1/blobs/${sha}`, {
        method: 'PUT',
        body: Buffer.from(bytes),
        token: worker.welcome.token,
        headers: { 'x-rollout': rollout },
      });
      return [response.status, await response.text()];
    };
    assert.equal((await put(one!.rollout, 'a'.repeat(600)))[0], 200);
    const [status, text] = await put(one!.rollout, 'b'.repeat(600));
    assert.equal(status, 413);
    assert.match(text, new RegExp(`Rollout ${one!.rollout} has more than 1\\.0 kB of large values`));
    assert.equal((await put(one!.rollout, 'a'.repeat(600)))[0], 200, 'it is stored already');
    assert.equal((await put(two!.rollout, 'b'.repeat(600)))[0], 200);
    assert.equal((await put('r-unknown', 'c'))[0], 403);

    worker.send({ type: 'bye' });
    await worker.frames.closed;
    await limited.kill('SIGKILL');
    limited = await other.start(options);
    worker = await limited.worker(batch);
    await worker.lease(2);
    assert.equal((await put(one!.rollout, 'c'.repeat(600)))[0], 413);
    assert.notEqual((await put(one!.rollout, 'c'.repeat(300), 'something else'))[0], 200, 'it is not stored');
    assert.equal((await put(one!.rollout, 'c'.repeat(300)))[0], 200);
  });

  test('the token of a session ends with the session, and with the batch', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const first = await server.worker(batch);
    const [grant] = await first.lease(1);
    const blob = `/v1/blobs/${grant!.submission}`;
    first.send({ type: 'bye' });
    await first.frames.closed;
    assert.equal(await status(blob, first.welcome.token), 401);
    const second = await server.worker(batch);
    const [again] = await second.lease(1);
    assert.equal(await status(blob, second.welcome.token), 200);
    await second.finish(again!, { passed: true });
    assert.equal((await server.api.batch(batch)).state, 'ended');
    assert.equal(await status(blob, second.welcome.token), 410);
  });

  test('a name and its rollouts are taken over only with the token of its session', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const worker = await server.worker(batch, { name: 'victim' });
    const [mine, other] = await worker.lease(2);
    const rollouts = [mine!, other!].map(({ rollout, epoch }) => ({ rollout, epoch, last: 0 }));
    const stranger = await server.worker(batch, { name: 'stranger', rollouts });
    assert.deepEqual(stranger.welcome.keep, [], 'the rollouts of an open session are its own');
    const enrollment = await server.workerToken(batch);
    for (const resume of [undefined, stranger.welcome.token, enrollment]) {
      const thief = FakeWorker.connect(server.url, enrollment, {
        name: 'victim',
        rollouts,
        ...(resume === undefined ? {} : { resume }),
      });
      await assert.rejects(
        thief,
        resume === undefined ? /The name victim belongs to an open session/ : /is not that of/,
      );
    }
    await worker.appendAcked(mine!, openingEvents(mine!));
    worker.close();
    const again = await server.worker(batch, { name: 'victim', rollouts, resume: worker.welcome.token });
    assert.deepEqual(
      again.welcome.keep.map(({ rollout }) => rollout),
      [mine!.rollout, other!.rollout],
    );
    assert.equal(await status(`/v1/streams/${mine!.rollout}/events`, worker.welcome.token), 401, 'it was replaced');
    // The welcome of the new session may get lost: the token of the previous one still leads to it.
    again.close();
    const third = await server.worker(batch, { name: 'victim', rollouts, resume: worker.welcome.token });
    assert.deepEqual(third.welcome.keep, [
      { rollout: mine!.rollout, durable: 2 },
      { rollout: other!.rollout, durable: 0 },
    ]);
  });
});
