/** The first quarter of an hour of a new user, in a real VS Code with the extension installed. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import type { Api } from '../../src/protocol/api.ts';
import type { Place } from '../../src/trace/schema.ts';
import { until } from './support/poll.ts';
import { BatchPage, TrajectoryPage } from './support/rolloutPages.ts';
import { apiOf, attemptsOf, emptyFolder, SAMPLE_ATTEMPTS, SAMPLE_TASKS } from './support/sample.ts';
import { Steps } from './support/steps.ts';
import { VsCode } from './support/vscode.ts';

const PATIENCE_MS = 90_000;

describe('a new user', { timeout: 600_000 }, () => {
  const folder = emptyFolder();
  let code: VsCode;
  let batch: BatchPage;
  let trajectory: TrajectoryPage;
  let thrownAt: Place = { file: '', line: 1, column: 1 };
  const story = new Steps('journey');
  before(async () => {
    code = await VsCode.start({ workspaceFolder: folder });
    batch = new BatchPage(code.workbench);
    trajectory = new TrajectoryPage(code.workbench);
  });
  after(async () => {
    await code.close(story.failed);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  story.step('gets a workspace that runs, without a question', async () => {
    await code.workbench.command('Rollout: Create Sample Workspace');
    await until(() => existsSync(path.join(folder, 'batches', 'desk.batch.yaml')) && existsSync(path.join(folder, 'tools', 'loans.ts')), PATIENCE_MS, 'the sample');
  });

  story.step('launches it with three answers', async () => {
    const { workbench } = code;
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.picks.filter({ hasText: `All ${SAMPLE_TASKS}` }).first().click({ timeout: PATIENCE_MS });
    await workbench.picks.filter({ hasText: /as in the file/i }).first().click({ timeout: PATIENCE_MS });
    await batch.shown();
    assert.match(await batch.heading.innerText(), /desk/);
  });

  story.step('sees the grid fill', async () => {
    // Cells that were seen on their way, and what became of the same ones.
    const early = await until(async () => {
      const cells = await batch.cells();
      return cells.some((cell) => cell.state === 'running') && cells.some((cell) => cell.state === 'queued' || cell.state === 'running') ? cells : undefined;
    }, PATIENCE_MS, 'a running attempt');
    const underWay = early.filter((cell) => cell.state === 'queued' || cell.state === 'running');
    await until(async () => {
      const now = await batch.cells();
      return underWay.some(({ task, attempt }) => now.some((cell) => cell.task === task && cell.attempt === attempt && /passed|failed/.test(cell.state)));
    }, PATIENCE_MS, 'an attempt that ends while one looks');
    await batch.progress.filter({ hasText: new RegExp(`\\d+/${SAMPLE_TASKS * SAMPLE_ATTEMPTS}`) }).waitFor();
  });

  story.step('opens a running attempt by keyboard', async () => {
    const cells = await batch.cells();
    const tasks = [...new Set(cells.map((cell) => cell.task))];
    const target = cells.findLast((cell) => cell.state === 'running') ?? cells.at(-1);
    assert.ok(target !== undefined);
    await batch.openCell(tasks.indexOf(target.task), target.attempt);
    await trajectory.shown();
    assert.equal((await trajectory.heading.innerText()).trim(), target.task);
  });

  story.step('steps by keyboard', async () => {
    await trajectory.steps.focus();
    const first = await trajectory.move('Home', (at) => at === 1);
    const second = await trajectory.move('j', (at) => at === first + 1);
    await trajectory.move('k', (at) => at === first);
    // Whole steps: past what was said before the first of them.
    const step = await trajectory.move('Shift+J', (at) => at > second);
    const next = await trajectory.move('Shift+J', (at) => at > step);
    await trajectory.move('Shift+K', (at) => at === step && at < next);
    await trajectory.move('End', (at, of) => at === of);
  });

  story.step('sees what a tool was called with and what it gave', async () => {
    await trajectory.move('Home', (at) => at === 1);
    await until(async () => {
      if (await trajectory.region('Arguments').isVisible()) return true;
      const { at } = await trajectory.position();
      await trajectory.move('j', (now) => now > at);
      return false;
    }, PATIENCE_MS, 'a tool call');
    await trajectory.region('Arguments').filter({ hasText: /\w/ }).waitFor();
    await trajectory.region('Result').filter({ hasText: /\w/ }).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('opens a trajectory with an error by its reference', async () => {
    const api = await apiOf(code.server.store);
    const [row] = (await api.batches()).batches;
    assert.ok(row !== undefined);
    await until(async () => (await api.batch(row.batch)).state === 'ended', 300_000, 'the end of the batch');
    const refused = await firstRefusal(api, row.batch);
    await code.workbench.command('Rollout: Open Trajectory…');
    await code.workbench.input.fill(refused.rollout);
    await code.workbench.pick(new RegExp(`Open ${refused.rollout}`));
    await until(async () => (await trajectory.heading.innerText()).trim() === refused.task, PATIENCE_MS, 'its page');
    await trajectory.shown();
    thrownAt = refused.place;
  });

  story.step('goes to the error, and from there to the tool’s source line', async () => {
    await trajectory.steps.focus();
    await trajectory.press('e');
    await trajectory.source.waitFor();
    assert.equal(await trajectory.source.getAttribute('aria-label'), `Open ${thrownAt.file}:${thrownAt.line}`);
    await trajectory.source.focus();
    await trajectory.press('Enter');
    await code.workbench.tab(path.basename(thrownAt.file)).waitFor();
    await code.workbench.atLine(thrownAt.line).waitFor();
    assert.match(readFileSync(path.join(folder, thrownAt.file), 'utf8').split('\n')[thrownAt.line - 1] ?? '', /throw|Error|refuse/);
  });

  story.step('saw no error anywhere', async () => {
    assert.deepEqual(code.consoleErrors(), []);
    assert.equal(await code.workbench.toast(/error|unforeseen/i).isVisible(), false);
  });
});

/** An attempt with a call that a tool refused by throwing. */
async function firstRefusal(api: Api, batch: string): Promise<{ readonly rollout: string; readonly task: string; readonly place: Place }> {
  for (const { rollout, task } of await attemptsOf(api, batch)) {
    for await (const events of api.allEvents(rollout)) {
      for (const event of events) {
        const place = event.kind === 'tool.end' ? event.data.error?.place : undefined;
        if (place !== undefined) return { rollout, task, place };
      }
    }
  }
  throw new Error('no tool of this batch threw anything');
}
