/**
 * Disturbances during a batch: the window is reloaded, the server is killed, the user stops it, or works with another
 * server.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import { certificateFor } from '../support/certificate.ts';
import { type TlsProxy, tlsProxy } from '../support/tlsProxy.ts';
import { answerFile } from './support/fileDialog.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, SAMPLE_ATTEMPTS, SAMPLE_TASKS, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 120_000;
const ALL = SAMPLE_TASKS * SAMPLE_ATTEMPTS;
/** Its cluster need not exist: to be asked how to log in, a user only needs a context. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: research
contexts: [{ name: research, context: { cluster: campus, user: me } }]
clusters: [{ name: campus, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: me, user: { token: mine } }]
`;

describe('during a batch', { timeout: 900_000 }, () => {
  // About 400 model calls, four at a time: long enough for everything that happens here.
  const folder = sampleFolder('latency_ms=500&slots=4');
  let batch = '';
  let proxy: TlsProxy | undefined;
  const kubeconfig = path.join(folder, 'kubeconfig.yaml');
  writeFileSync(kubeconfig, KUBECONFIG);
  const story = new Story('survive', folder, { env: { KUBECONFIG: kubeconfig } });
  after(() => proxy?.[Symbol.asyncDispose]());

  /** Launches the sample's batch from the palette: with three answers, or like the last time. */
  async function launch(how: 'anew' | 'as last time'): Promise<string> {
    const { workbench } = story.code;
    const before =
      story.code.server.rolloutServer === undefined
        ? []
        : (await (await apiOf(story.code.server.store)).batches()).batches.map((row) => row.batch);
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.picks
      .filter({ hasText: how === 'anew' ? `All ${SAMPLE_TASKS}` : 'Same as last time' })
      .first()
      .click({ timeout: PATIENCE_MS });
    if (how === 'anew')
      await workbench.picks
        .filter({ hasText: /from the file/i })
        .first()
        .click({ timeout: PATIENCE_MS });
    return until(
      async () => {
        if (story.code.server.rolloutServer === undefined) return undefined;
        const rows = (await (await apiOf(story.code.server.store)).batches()).batches;
        return rows.find((row) => !before.includes(row.batch))?.batch;
      },
      PATIENCE_MS,
      'the batch',
    );
  }

  /** Settled attempts as the page shows them. */
  async function settled(): Promise<number | undefined> {
    const text = await story.batch.progress.innerText({ timeout: PATIENCE_MS });
    const done = new RegExp(`(\\d+)\\s*/\\s*${ALL}`).exec(text)?.[1];
    return done === undefined ? undefined : Number(done);
  }

  function settledBeyond(count: number): Promise<number> {
    return until(
      async () => {
        const now = await settled();
        return now !== undefined && now > count ? now : undefined;
      },
      PATIENCE_MS,
      `more than ${count} settled attempts`,
    );
  }

  story.step('a reload of the window restores the page, with nothing lost or doubled', async () => {
    batch = await launch('anew');
    await story.batch.shown();
    const reached = await settledBeyond(0);
    await story.code.reload(batch);
    await story.batch.shown();
    await settledBeyond(reached);
    const row = await (await apiOf(story.code.server.store)).batch(batch);
    assert.equal(row.state, 'running', 'the batch is still under way');
    assert.equal(
      Object.values(row.counts).reduce((sum, count) => sum + count, 0),
      ALL,
    );
  });

  story.step('a killed server is reported once; restarted, the view continues and the batch ends', async () => {
    const server = story.code.server.rolloutServer;
    assert.ok(server !== undefined);
    const reached = (await settled()) ?? 0;
    process.kill(server.pid, 'SIGKILL');
    const message = /The rollout server stopped/;
    await story.code.workbench.toast(message).waitFor({ timeout: PATIENCE_MS });
    await story.batch.frame.getByText(message).first().waitFor();
    assert.equal(
      await story.code.page
        .locator('.notifications-toasts .notification-list-item')
        .filter({ hasText: /rollout server/i })
        .count(),
      1,
      'one message',
    );
    await story.code.workbench.toastButton(message, 'Start Server');
    await until(() => story.code.server.rolloutServer?.pid !== server.pid, PATIENCE_MS, 'another server');
    await settledBeyond(reached);
    const api = await apiOf(story.code.server.store);
    await until(async () => (await api.batch(batch)).state === 'ended', 300_000, 'the end of the batch');

    const attempts = await attemptsOf(api, batch);
    assert.equal(attempts.length, ALL);
    assert.equal(new Set(attempts.map((row) => `${row.task}/${row.attempt}`)).size, ALL, 'every attempt once');
    assert.deepEqual(
      [...new Set(attempts.map((row) => row.progress.status))],
      ['done'],
      'no attempt was lost to the restart',
    );
    await story.batch.progress
      .filter({ hasText: new RegExp(`${ALL}\\s*/\\s*${ALL}`) })
      .waitFor({ timeout: PATIENCE_MS });
    const cells = (await story.batch.cells()).map((cell) => `${cell.task}/${cell.attempt}`);
    assert.equal(new Set(cells).size, cells.length, 'no cell twice');
  });

  story.step('Stop asks first', async () => {
    const second = await launch('as last time');
    await story.batch.shown();
    await settledBeyond(0);
    const api = await apiOf(story.code.server.store);
    await story.batch.button('Stop').click();
    const question = story.code.workbench.dialog(/stop/i);
    await question.waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await api.batch(second)).state, 'running', 'nothing happens without a yes');
    await story.batch.button('Stop').click();
    await question.getByRole('button', { name: /^Stop/ }).click();
    const row = await until(
      async () => {
        const now = await api.batch(second);
        return now.state === 'ended' ? now : undefined;
      },
      PATIENCE_MS,
      'the stop',
    );
    assert.ok(row.counts.cancelled > 0, JSON.stringify(row.counts));
    assert.deepEqual(story.code.consoleErrors(), []);
  });

  story.step('a server by its address is added after its certificate and its token were checked', async () => {
    const { workbench, server } = story.code;
    const running = server.rolloutServer;
    assert.ok(running !== undefined);
    const certificate = certificateFor('127.0.0.1');
    const authority = path.join(folder, 'authority.pem');
    writeFileSync(authority, certificate.ca);
    proxy = await tlsProxy(() => running.port, certificate);
    await workbench.command('Rollout: Add Target…');
    await workbench.picks.filter({ hasText: 'Server URL…' }).first().click({ timeout: PATIENCE_MS });
    const step = (number: string) => workbench.inputTitle.filter({ hasText: number }).waitFor({ timeout: PATIENCE_MS });
    await step('2/4');
    await workbench.answer('http://rollouts.example.org');
    await workbench.page
      .getByText(/would send the token unencrypted. Use https/)
      .first()
      .waitFor();
    await workbench.answer(proxy.url);
    await workbench.picks.filter({ hasText: 'Choose a CA File…' }).first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('address-authority');
    await workbench.pick('Choose a CA File…');
    await answerFile(workbench, /[\\/]/, authority);
    await step('3/4');
    await workbench.picks.filter({ hasText: 'Token…' }).first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('address-login');
    await workbench.pick(/As the user of research/);
    await step('4/4');
    await workbench.back();
    await step('3/4');
    await workbench.pick('Token…');
    await workbench.page
      .getByText(/Token of the server/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await workbench.answer('nonsense');
    await workbench.page
      .getByText(/rejected the token/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('address-token');
    await workbench.answer(running.token);
    await step('4/4');
    await workbench.answer('lab');
    await workbench.toast(/Its rollout server is running/).waitFor({ timeout: PATIENCE_MS });
    await workbench.toastButton(/Its rollout server is running/, 'Use This Target');
  });

  story.step('a page stays with the server it was opened on, and says so', async () => {
    const { workbench } = story.code;
    await workbench.statusBar('lab').waitFor({ timeout: PATIENCE_MS });
    const said = story.batch.frame.getByText('This page shows the target local, but the window uses lab.', {
      exact: true,
    });
    await said.waitFor({ timeout: PATIENCE_MS });
    await story.picture('page-elsewhere');
    const second = (await (await apiOf(story.code.server.store)).batches()).batches[0]?.batch ?? '';
    const before = await settled();
    await (await apiOf(story.code.server.store)).commandBatch(second, { command: newId('c'), verb: 'retry', args: {} });
    await until(
      async () => (await settled()) !== before,
      PATIENCE_MS,
      'what becomes of the batch while the window works elsewhere',
    );
    await story.batch.button('Stop').click();
    await story.batch.frame
      .getByText(/Choose “Use local” first/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });

    await workbench.statusBar('lab').click();
    await workbench.picks
      .filter({ hasText: 'in use' })
      .filter({ hasText: 'lab' })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('select-target');
    await workbench.pick('local');
    await said.waitFor({ state: 'hidden', timeout: PATIENCE_MS });
    await workbench.statusBar('local').waitFor();
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
