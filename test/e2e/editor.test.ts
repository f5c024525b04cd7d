/**
 * Features in the editor itself: the walkthrough, files from templates, prompted values, a single task, targets, links.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe } from 'node:test';
import { TargetFile } from '../../src/client/targets/targetFile.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { Bench } from '../support/cli.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;
/** The scheme of links into code-server, like `vscode` for VS Code. */
const SCHEME = 'code-oss';
const KEY = 'DESK_KEY';
const VALUE = 'a-value-nobody-is-to-see';

describe('in the editor', { timeout: 600_000 }, () => {
  // So slow that a batch is still running when the test looks at the Targets view.
  const folder = sampleFolder('latency_ms=120000');
  const story = new Story('editor', folder);

  async function batches(): Promise<readonly BatchRow[]> {
    const { server } = story.code;
    return server.rolloutServer === undefined ? [] : (await (await apiOf(server.store)).batches()).batches;
  }

  /** Waits for a batch that is none of these. */
  function another(than: readonly BatchRow[]): Promise<BatchRow> {
    return until(
      async () => (await batches()).find((row) => !than.some(({ batch }) => batch === row.batch)),
      PATIENCE_MS,
      'another batch',
    );
  }

  story.step('the walkthrough opens with its pictures', async () => {
    const { workbench, page } = story.code;
    await workbench.command('Welcome: Open Walkthrough...');
    await workbench.input.fill('Rollout Studio');
    await workbench.picks.filter({ hasText: 'Get Started with Rollout Studio' }).first().waitFor();
    await workbench.input.press('Enter'); // a tooltip hides the row from a click
    const steps = page.locator('.gettingStartedContainer .getting-started-step');
    await steps.first().waitFor({ timeout: PATIENCE_MS });
    assert.equal(await steps.count(), 4);
    for (const title of [
      'Launch a batch',
      'Watch the attempts',
      'See why an attempt failed',
      'Create the sample workspace',
    ]) {
      await steps.filter({ hasText: title }).first().click();
      // The picture is a page in a frame; it is loaded once something is drawn in it.
      const picture = workbench.webview().locator('svg').first();
      await picture.waitFor({ timeout: PATIENCE_MS });
      const box = await picture.boundingBox();
      assert.ok((box?.width ?? 0) > 100 && (box?.height ?? 0) > 100, `${title}: ${JSON.stringify(box)}`);
    }
    await workbench.command('View: Close All Editors');
  });

  story.step('New Agent, New Tool, and New Batch create files that check clean', async () => {
    const { workbench } = story.code;
    const made = async (command: string, name: string, file: string): Promise<void> => {
      await workbench.command(`Rollout: ${command}…`);
      if (command === 'New Tool') await workbench.pick('TypeScript');
      await workbench.answerNext(name);
      if (command === 'New Batch') await workbench.pick(/mine\.agent\.yaml/);
      await workbench.tab(path.basename(file)).waitFor();
      await until(() => existsSync(path.join(folder, file)), PATIENCE_MS, file);
    };
    await made('New Agent', 'mine', 'agents/mine.agent.yaml');
    await made('New Tool', 'count_words', 'tools/count_words.ts');
    await made('New Batch', 'mine', 'batches/mine.batch.yaml');
    const agent = path.join(folder, 'agents', 'mine.agent.yaml');
    writeFileSync(agent, readFileSync(agent, 'utf8').replace('tools:', 'tools:\n  - module: ../tools/count_words.ts'));
    assert.match(
      readFileSync(path.join(folder, 'batches', 'mine.batch.yaml'), 'utf8'),
      /agent: \.\.\/agents\/mine\.agent\.yaml/,
    );
    const bench = new Bench();
    try {
      const { code, stdout, stderr } = await bench.run(['check', 'batches/mine.batch.yaml'], { cwd: folder });
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(`${stdout}${stderr}`, /warning/i);
    } finally {
      await bench.close();
    }
    await workbench.command('View: Close All Editors');
  });

  story.step('a team is drawn beside its file, and its boxes lead to their lines', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('agents/office.agent.yaml');
    await workbench.command('Rollout: Show Team');
    const box = workbench.webview().getByRole('link', { name: /^desk, / });
    await box.waitFor({ timeout: PATIENCE_MS });
    await box.click();
    await page
      .getByText(/^Ln 9, Col 1/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await workbench.command('View: Close All Editors');
  });

  story.step('a task is launched from its line of the dataset', async () => {
    const { workbench } = story.code;
    const before = await batches();
    await workbench.openFile('data/tasks.jsonl');
    await workbench.codeLens(/Launch on This Task/).click({ timeout: PATIENCE_MS });
    // Several batch files use the dataset; the lens asks which, then how many attempts.
    await workbench.pick(/first\.batch\.yaml/);
    await workbench.picks
      .filter({ hasText: /from the file/i })
      .first()
      .click({ timeout: PATIENCE_MS });
    const row = await another(before);
    await story.batch.shown();
    const attempts = await attemptsOf(await apiOf(story.code.server.store), row.batch);
    const [line = '{}'] = readFileSync(path.join(folder, 'data', 'tasks.jsonl'), 'utf8').split('\n');
    assert.deepEqual(
      attempts.map((one) => one.task),
      [(JSON.parse(line) as { id: string }).id],
    );
  });

  story.step('the Targets view shows the worker while it runs', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Focus on Targets View');
    await workbench.treeItem(/^Target local, in use, 1 running/).waitFor({ timeout: PATIENCE_MS });
    await workbench.treeItem(/^Worker .*1\/\d+ slots/).waitFor();
  });

  story.step('the Targets view reads a target again that was collapsed while it was read', async () => {
    const { workbench, server } = story.code;
    const targets = new TargetFile(path.dirname(server.store));
    const silent = createServer(() => undefined);
    silent.listen(0, '127.0.0.1');
    try {
      await once(silent, 'listening');
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      // As the command line does, in a folder that did not exist when the window was opened.
      targets.add('silent', { url, token_env: 'HOME' });
      const target = workbench.treeItem(/^Target silent, http/);
      const asked = once(silent, 'request');
      await target.click({ timeout: PATIENCE_MS });
      await asked;
      await target.click();
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
    const collapsed = workbench.page.getByRole('treeitem', { name: /^Target silent/, expanded: false });
    await collapsed.click();
    await workbench.treeItem(/^Server, wrong/).waitFor({ timeout: PATIENCE_MS });
    targets.remove('silent'); // launches ask where to run if there is a choice
    await workbench.treeItem(/^Target silent/).waitFor({ state: 'hidden', timeout: PATIENCE_MS });
  });

  story.step('a link opens the trajectory it names', async () => {
    const { workbench } = story.code;
    const [row] = await batches();
    const [attempt] = await attemptsOf(await apiOf(story.code.server.store), row?.batch ?? '');
    assert.ok(attempt !== undefined);
    await workbench.command('Developer: Open URL');
    await workbench.answer(`${SCHEME}://rollout-studio.rollout-studio/open?ref=${attempt.rollout}&tab=raw`);
    await workbench
      .dialog(/Rollout Studio/)
      .getByRole('button', { name: /^Open|^Allow/ })
      .click();
    await until(
      async () => (await story.trajectory.heading.innerText()).trim() === attempt.task,
      PATIENCE_MS,
      'its page',
    );
    await story.trajectory.shown();
    assert.equal(await story.trajectory.tab('Raw').getAttribute('aria-selected'), 'true');
  });

  story.step('a value that the files need is prompted once, used, and forgotten on request', async () => {
    const { workbench } = story.code;
    const agent = path.join(folder, 'agents', 'desk.agent.yaml');
    writeFileSync(
      agent,
      readFileSync(agent, 'utf8').replace('  sampling:', `  headers: { x-key: '\${env:${KEY}}' }\n  sampling:`),
    );
    const launch = async (): Promise<void> => {
      await workbench.command('Rollout: Launch Batch…');
      await workbench.pick(/first\.batch\.yaml/);
      await workbench.pickEach([/the only one of the dataset/, /from the file/i], PATIENCE_MS);
    };
    const asked = workbench.inputTitle.filter({ hasText: `Value of ${KEY}` });
    const before = await batches();
    await launch();
    await asked.waitFor({ timeout: PATIENCE_MS });
    assert.equal(await workbench.input.getAttribute('type'), 'password');
    await workbench.answer(VALUE);
    const first = await another(before);
    // The second launch does not ask.
    await launch();
    const second = await another([...before, first]);
    assert.equal(await asked.isVisible(), false);
    assert.notEqual(second.batch, first.batch);
    assert.doesNotMatch(story.code.server.hostLogs(), new RegExp(VALUE));
    await workbench.command('Rollout: Forget Stored Values');
    await workbench.toast('1 stored value was removed.').waitFor();
    await launch();
    await asked.waitFor({ timeout: PATIENCE_MS });
    await workbench.page.keyboard.press('Escape');
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
