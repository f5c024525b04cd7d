/** A recording of another tool: imported through the command, and read to its end by keyboard. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { root } from '../support/cli.ts';
import { answerFile } from './support/fileDialog.ts';
import { until } from './support/poll.ts';
import { BatchPage, TrajectoryPage } from './support/rolloutPages.ts';
import { apiOf, attemptsOf, emptyFolder } from './support/sample.ts';
import { Steps } from './support/steps.ts';
import { VsCode } from './support/vscode.ts';

const RECORDING = process.env['ROLLOUT_RECORDING'] ?? path.join(root, 'test', 'fixtures', 'tau-bench', 'two-tasks.json');

describe('a recording', { timeout: 300_000 }, () => {
  const folder = emptyFolder();
  let code: VsCode;
  let batch: BatchPage;
  let trajectory: TrajectoryPage;
  const story = new Steps('import');
  before(async () => {
    code = await VsCode.start({ workspaceFolder: folder });
    batch = new BatchPage(code.workbench);
    trajectory = new TrajectoryPage(code.workbench);
  });
  after(async () => {
    await code.close(story.failed);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  story.step('is imported through the command, and its page opens', async () => {
    await code.workbench.command('Rollout: Import…');
    await answerFile(code.workbench, /[\\/]$/, RECORDING);
    await batch.shown();
    const [row] = (await (await apiOf(code.server.store)).batches()).batches;
    assert.equal(row?.imported, true);
  });

  story.step('is read to its end by keyboard', async () => {
    await batch.openCell(0, 1);
    await trajectory.shown();
    const api = await apiOf(code.server.store);
    const [row] = (await api.batches()).batches;
    const [attempt] = await attemptsOf(api, row?.batch ?? '');
    assert.equal((await trajectory.heading.innerText()).trim(), attempt?.task);
    await trajectory.steps.focus();
    await trajectory.move('Home', (at) => at === 1);
    const { of } = await trajectory.position();
    assert.ok(of > (attempt?.progress.steps ?? 0), `${of} rows hold every step`);
    for (let row = 2; row <= of; row += 1) await trajectory.move('j', (at) => at === row);
    const reached = await trajectory.selected.first().innerText();
    await trajectory.move('End', (at) => at === of);
    assert.equal(await trajectory.selected.first().innerText(), reached, 'the end was reached');
  });

  story.step('is saved as a page that needs no server', async () => {
    const file = path.join(folder, 'saved.html');
    await code.workbench.command('Rollout: Open Batch…');
    await code.workbench.pick(/ended/);
    await batch.shown();
    await batch.button(/^Save/).click();
    await answerFile(code.workbench, /\.html$/, file);
    await until(() => existsSync(file) && statSync(file).size > 0, 90_000, 'the file');
    assert.match(readFileSync(file, 'utf8').slice(0, 200), /^<!DOCTYPE html>/i);
    assert.deepEqual(code.consoleErrors(), []);
  });
});
