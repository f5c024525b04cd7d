/** Private batches and the audit log: a real server with users of a fake cluster. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { subscribe } from '../../src/client/subscribe.ts';
import { connectTarget, type TargetConnection } from '../../src/client/targets/connectTarget.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson, type Json } from '../../src/common/json.ts';
import { type Submission, submissionSha } from '../../src/config/submission.ts';
import type { Api } from '../../src/protocol/api.ts';
import { framesOf } from '../../src/protocol/archive.ts';
import { readBackup, readCopy, sendCopy, stateOfCopy } from '../../src/protocol/archiveCalls.ts';
import { openStore } from '../../src/store/open.ts';
import { FakeCluster } from '../support/fakeCluster.ts';
import { blobOf, plainSubmission, tasks } from '../support/rolloutServer.ts';
import { finish, openBatch, shaOf } from '../support/trajectories.ts';

const USER = ['get', 'create', 'update'];
const never = new AbortController().signal;
const is = (code: string) => (error: unknown) => StudioError.is(error) && error.code === code;

describe('batches of users of a cluster', () => {
  let cluster: FakeCluster;
  const open: Record<string, TargetConnection> = {};
  const api = (user: string): Api => {
    const connection = open[user];
    assert.ok(connection !== undefined, user);
    return connection.api;
  };
  before(async () => {
    cluster = await FakeCluster.start();
    for (const [name, verbs] of [
      ['ann', USER],
      ['bob', USER],
      ['eve', ['get']],
      ['root', ['administer']],
    ] as const)
      open[name] = await connectTarget('k', cluster.user({ name, token: `token-of-${name}` }, verbs), { env: {} });
    cluster.secrets = true;
    cluster.refuses = 'reviews';
    // Somebody with the client token.
    open['token'] = await connectTarget('k', cluster.user({ name: 'old', token: 'token-of-old' }, []), { env: {} });
    cluster.refuses = 'nothing';
  });
  after(async () => {
    for (const connection of Object.values(open)) connection.close();
    await cluster[Symbol.asyncDispose]();
  });

  async function submit(
    user: string,
    changes: Partial<Submission> = {},
    more: { secrets?: Record<string, string>; batch?: string } = {},
  ): Promise<{ batch: string; sha: string; rollout: string }> {
    const submission = plainSubmission({ name: `of ${user}`, ...changes });
    const sha = submissionSha(submission);
    await api(user).putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    const batch = more.batch ?? newId('b');
    const body = { batch, submission: sha, open: true, tasks: tasks(1), secrets: more.secrets ?? {} };
    await api(user).createBatch(body);
    const { rollouts } = await api(user).rollouts(batch);
    return { batch, sha, rollout: rollouts[0]?.rollout ?? '' };
  }

  const seenBy = async (user: string): Promise<string[]> =>
    (await api(user).batches({ limit: 200 })).batches.map(({ batch }) => batch);

  /** What others try to read of a batch. */
  const reads = ({ batch, sha, rollout }: Awaited<ReturnType<typeof submit>>): ((as: Api) => Promise<unknown>)[] => [
    (as) => as.batch(batch),
    (as) => as.tasks(batch),
    (as) => as.rollouts(batch),
    (as) => as.groups(batch),
    (as) => as.finishedGroups(batch),
    (as) => as.tokens(batch),
    (as) => as.pods(batch),
    (as) => as.rollout(rollout),
    (as) => as.events(rollout),
    (as) => as.events(batch),
    (as) => as.getBlob(sha),
    (as) => as.blobTexts([sha]),
    (as) => as.exported(batch, { format: 'csv', attempts: 1 }),
  ];
  const writes = ({ batch, rollout }: Awaited<ReturnType<typeof submit>>): ((as: Api) => Promise<unknown>)[] => [
    (as) => as.commandBatch(batch, { command: newId('c'), verb: 'pause' }),
    (as) => as.commandBatch(batch, { command: newId('c'), verb: 'share', args: { with: ['bob'] } }),
    (as) => as.commandRollout(rollout, { command: newId('c'), verb: 'hold' }),
    (as) => as.appendTasks(batch, 1, tasks(1)),
    (as) => as.requestGroup({ batch, group: 'g1', task: 't1' }),
    (as) => as.importRollouts(batch, []),
  ];
  const follows = async (user: string, stream: string): Promise<string> => {
    const end = new AbortController();
    const connection = open[user];
    assert.ok(connection !== undefined);
    let result = 'nothing';
    const head = (): void => {
      result = 'head';
      end.abort();
    };
    try {
      await subscribe(connection, { stream }, { head }, end.signal);
    } catch (error) {
      result = StudioError.is(error) ? error.code : 'error';
    }
    return result;
  };

  it('are seen by their user and by administrators only, in every list and stream', async () => {
    const mine = await submit('ann');
    assert.deepEqual([(await api('ann').batch(mine.batch)).by, await seenBy('bob')], ['ann', []]);
    for (const user of ['bob', 'eve'])
      for (const read of reads(mine))
        await assert.rejects(read(api(user)), (error) => is('not_found')(error) || is('gone')(error), read.toString());
    for (const write of writes(mine)) await assert.rejects(write(api('bob')), is('not_found'), write.toString());
    for (const stream of [mine.batch, mine.rollout]) {
      assert.equal(await follows('bob', stream), 'gone');
      assert.equal(await follows('ann', stream), 'head');
      assert.equal(await follows('root', stream), 'head');
    }
    for (const user of ['ann', 'root', 'token']) {
      assert.ok((await seenBy(user)).includes(mine.batch), user);
      await api(user).getBlob(mine.sha);
    }
    // The ID of a batch is taken, whoever may see it.
    await assert.rejects(submit('bob', {}, { batch: mine.batch }), is('conflict'));
  });

  it('are read, and not changed, by those whom they are shared with', async () => {
    const mine = await submit('ann');
    const share = (args: Json) => api('ann').commandBatch(mine.batch, { command: newId('c'), verb: 'share', args });
    assert.match((await share({ with: ['bob'] })).text ?? '', /is shared with bob\.$/);
    assert.deepEqual((await api('bob').batch(mine.batch)).shared, ['bob']);
    // The feed says that the batch has no groups.
    for (const read of reads(mine)) await read(api('bob')).catch((error: unknown) => assert.ok(is('conflict')(error)));
    assert.equal(await follows('bob', mine.rollout), 'head');
    for (const write of writes(mine))
      await assert.rejects(
        write(api('bob')),
        (error) => is('forbidden')(error) && /belongs to ann/.test((error as Error).message),
      );
    assert.deepEqual(await seenBy('eve'), []);
    await share({ everyone: true });
    assert.deepEqual(await seenBy('eve'), [mine.batch]);
    await share({ only_me: true });
    assert.deepEqual(await seenBy('bob'), []);
    await assert.rejects(share({}), is('usage'));
    const listed = await submit('ann', { share: ['eve'] });
    assert.deepEqual(await seenBy('eve'), [listed.batch]);
  });

  it('that belong to nobody are seen and changed as before', async () => {
    const open = await submit('token');
    for (const user of ['ann', 'bob', 'root']) {
      assert.ok((await seenBy(user)).includes(open.batch));
      assert.equal((await api(user).batch(open.batch)).by, undefined);
      await api(user).commandBatch(open.batch, {
        command: newId('c'),
        verb: 'note',
        args: { label: 'note', text: user },
      });
    }
    await assert.rejects(
      api('ann').commandBatch(open.batch, { command: newId('c'), verb: 'share', args: { everyone: true } }),
      is('conflict'),
    );
  });

  it('keep their blobs from whoever only knows a hash', async () => {
    const secret = blobOf('a file of ann that bob knows the hash of');
    await api('ann').putBlob(secret.sha, secret.bytes);
    const batch = (as: Api, sha: string) =>
      as.createBatch({
        batch: newId('b'),
        submission: sha,
        open: true,
        tasks: [],
        imported: { name: 'x', attempts: 1 },
      });
    await batch(api('ann'), secret.sha);
    assert.equal(await api('bob').hasBlob(secret.sha), false);
    await assert.rejects(api('bob').getBlob(secret.sha), is('not_found'));
    // Neither by a batch that refers to it, nor by a task, nor by an upload of something else under its name.
    await assert.rejects(batch(api('bob'), secret.sha), is('conflict'));
    const attachment = { path: 'x.txt', sha: secret.sha, bytes: secret.bytes.length, media: 'text/plain' };
    const own = await submit('bob');
    await assert.rejects(
      api('bob').appendTasks(own.batch, 1, [{ ...tasks(2)[1]!, files: [attachment] } as never]),
      (error) => is('conflict')(error) || is('usage')(error),
    );
    await assert.rejects(api('bob').putBlob(secret.sha, new TextEncoder().encode('something else')), is('usage'));
    await assert.rejects(api('bob').getBlob(secret.sha), is('not_found'));
    // Whoever has the content may send it, and use it.
    await api('bob').putBlob(secret.sha, secret.bytes);
    await api('bob').getBlob(secret.sha);
    await batch(api('bob'), secret.sha);
  });

  it('keep their values of ${env:…}, also from forks of those whom they are shared with', async () => {
    const env = { names: ['KEY'], shown: [] };
    const mine = await submit('ann', { env, share: 'everyone' }, { secrets: { KEY: 'value-of-ann' } });
    const fork = (user: string, secrets?: Record<string, string>) =>
      api(user).fork({
        batch: newId('b'),
        rollout: mine.rollout,
        seq: 0,
        attempts: 1,
        ...(secrets === undefined ? {} : { secrets }),
      });
    for (const user of ['bob', 'root']) await assert.rejects(fork(user), is('config'));
    const { batch } = await fork('bob', { KEY: 'value-of-bob' });
    assert.deepEqual([(await api('bob').batch(batch)).by, (await api('bob').batch(batch)).shared], ['bob', []]);
    assert.ok(!(await seenBy('ann')).includes(batch), 'a fork belongs to whoever forked');
    await fork('ann');
  });

  it('say in their records who launched, changed, and exported them, and so does the audit log', async () => {
    const mine = await submit('ann', { share: ['bob'] });
    await api('ann').commandBatch(mine.batch, { command: newId('c'), verb: 'pause', by: 'rollout' });
    await api('bob').exported(mine.batch, { format: 'csv', attempts: 1 });
    await assert.rejects(api('bob').commandBatch(mine.batch, { command: newId('c'), verb: 'cancel' }), is('forbidden'));
    await assert.rejects(api('eve').commandBatch(mine.batch, { command: newId('c'), verb: 'cancel' }), is('forbidden'));
    await api('root').commandBatch(mine.batch, { command: newId('c'), verb: 'cancel' });
    const { events } = await api('ann').events(mine.batch);
    const said = events.flatMap((event) =>
      event.kind === 'batch.start'
        ? [`launch ${event.data.by ?? ''}`]
        : event.kind === 'control'
          ? [`${event.data.verb} ${event.data.user ?? ''} by ${event.data.by}`]
          : [],
    );
    assert.deepEqual(said, ['launch ann', 'pause ann by rollout', 'export bob by client', 'cancel root by client']);
    assert.equal((await api('ann').batch(mine.batch)).reason, 'Cancelled by root.');
    const log = async (user: string, page: Parameters<Api['audit']>[0]) =>
      (await api(user).audit(page)).entries.map((entry) => `${entry.user ?? '-'} ${entry.what} ${entry.result}`);
    assert.deepEqual(await log('root', { batch: mine.batch }), [
      'root cancel done',
      'eve command forbidden',
      'bob command forbidden',
      'bob export done',
      'ann pause done',
      'ann launch done',
    ]);
    // Others see what they did, whatever they ask for.
    assert.deepEqual(await log('bob', { batch: mine.batch, user: 'ann' }), [
      'bob command forbidden',
      'bob export done',
    ]);
    const [first, second] = (await api('root').audit({ limit: 2 })).entries;
    const page = await api('root').audit({ limit: 1, before: first?.id ?? 0 });
    assert.deepEqual([page.entries, page.next], [[second], second?.id]);
    assert.deepEqual(await log('root', { since: Date.now() + 60_000 }), []);
    // Who it is counts more than who a program says it is.
    await api('ann').commandBatch(mine.batch, {
      command: newId('c'),
      verb: 'note',
      by: 'mallory',
      args: { label: 'note', text: 'mine' },
    });
    const note = (await api('ann').events(mine.batch)).events.find(({ kind }) => kind === 'note');
    assert.equal(note?.kind === 'note' && note.data.by, 'ann');
  });

  it('are copied here by users who may launch, to whom they belong then; backups are for administrators', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-private-'));
    const source = await openStore(folder);
    try {
      const mine = await submit('ann');
      for (const user of ['bob', 'eve'])
        await assert.rejects(readCopy(api(user), mine.batch, undefined, never), is('not_found'));
      await assert.rejects(readCopy(api('ann'), mine.batch, undefined, never), is('conflict'), 'it has not ended');
      const secret = Buffer.from('only ann has sent this');
      await api('ann').putBlob(shaOf(secret), new Uint8Array(secret));
      const pageOf = async (blobs: string[]): Promise<{ batch: string; page: Buffer }> => {
        const { batch, session } = await openBatch(source, 1, { attempts: 1, by: 'carl', shared: 'everyone', blobs });
        for (const lease of await source.lease(session, 1)) await finish(source, batch, lease);
        return { batch, page: Buffer.concat(await source.archive.copyPage(batch, undefined)) };
      };
      const { batch, page } = await pageOf([]);
      const target = { batch, after: undefined, keepOwner: false };
      await assert.rejects(stateOfCopy(api('eve'), batch, never), is('forbidden'));
      await assert.rejects(sendCopy(api('eve'), target, page, never), is('forbidden'));
      await assert.rejects(sendCopy(api('bob'), { ...target, keepOwner: true }, page, never), is('forbidden'));
      assert.equal((await stateOfCopy(api('bob'), batch, never)).state, 'absent');
      assert.equal((await sendCopy(api('bob'), target, page, never)).state, 'complete');
      const row = await api('bob').batch(batch);
      assert.deepEqual([row.by, row.shared], ['bob', []]);
      await assert.rejects(api('ann').batch(batch), is('not_found'));
      await assert.rejects(stateOfCopy(api('ann'), batch, never), (error) => {
        assert.match(String(error), /is there already, and is private to another user/);
        return is('conflict')(error);
      });
      const kept = await pageOf([]);
      await sendCopy(api('root'), { ...target, batch: kept.batch, keepOwner: true }, kept.page, never);
      assert.deepEqual([(await api('ann').batch(kept.batch)).by], ['carl']);
      // Whoever only knows the hash of a blob of others does not get it by a copy that refers to it.
      await source.blobs.put(shaOf(secret), secret);
      const thief = await pageOf([shaOf(secret)]);
      const without = Buffer.from(withoutBlobs(thief.page));
      await assert.rejects(sendCopy(api('bob'), { ...target, batch: thief.batch }, without, never), (error) => {
        assert.match(String(error), /which was not sent/);
        return is('conflict')(error);
      });
      await assert.rejects(api('bob').getBlob(shaOf(secret)), is('not_found'));
      for (const user of ['bob', 'eve']) await assert.rejects(readBackup(api(user), never), is('forbidden'));
      let bytes = 0;
      for await (const chunk of await readBackup(api('root'), never)) bytes += chunk.byteLength;
      assert.ok(bytes > 1000);
      const { entries } = await api('root').audit({ limit: 100 });
      const done = entries
        .filter(({ what }) => what === 'copy' || what === 'backup')
        .map((e) => [e.user, e.what, e.result]);
      assert.deepEqual(done.slice(0, 1), [['root', 'backup', 'done']]);
      assert.ok(done.some((e) => JSON.stringify(e) === '["bob","copy","done"]'));
    } finally {
      await source.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Returns a page of a copy without the contents of blobs. */
function withoutBlobs(page: Uint8Array): Uint8Array {
  return Buffer.concat(
    framesOf(page)
      .filter(({ header }) => header.kind !== 'blobs')
      .map(({ bytes }) => bytes),
  );
}
