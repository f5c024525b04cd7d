/** A recording of another tool: imported with the command, and read to its end by keyboard. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { taskName } from '../../src/trace/task.ts';
import { root } from '../support/cli.ts';
import { answerFile } from './support/fileDialog.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, emptyFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const RECORDING =
  process.env['ROLLOUT_RECORDING'] ?? path.join(root, 'test', 'fixtures', 'tau-bench', 'two-tasks.json');

describe('a recording', { timeout: 300_000 }, () => {
  const folder = emptyFolder();
  const story = new Story('import', folder);

  story.step('is imported with the command, and its page opens', async () => {
    await story.code.workbench.command('Rollout: Import…');
    await answerFile(story.code.workbench, /[\\/]$/, RECORDING);
    await story.batch.shown();
    const [row] = (await (await apiOf(story.code.server.store)).batches()).batches;
    assert.equal(row?.imported, true);
  });

  story.step('is read to its end by keyboard', async () => {
    await story.batch.openCell(0, 1);
    await story.code.workbench.webview().getByRole('feed', { name: 'Transcript' }).waitFor({ timeout: 60_000 });
    await story.code.page.keyboard.press('v');
    await story.trajectory.shown();
    const api = await apiOf(story.code.server.store);
    const [row] = (await api.batches()).batches;
    const [attempt] = await attemptsOf(api, row?.batch ?? '');
    const task = (await api.tasks(row?.batch ?? '', { limit: 1 })).tasks[0];
    assert.equal((await story.trajectory.heading.innerText()).trim(), taskName(task ?? { id: '', question: '' }, true));
    await story.trajectory.steps.focus();
    await story.trajectory.move('Home', (at) => at === 1);
    const { of } = await story.trajectory.position();
    assert.ok(of > (attempt?.progress.steps ?? 0), `${of} rows hold every step`);
    for (let row = 2; row <= of; row += 1) await story.trajectory.move('j', (at) => at === row);
    const reached = await story.trajectory.selected.first().innerText();
    await story.trajectory.move('End', (at) => at === of);
    assert.equal(await story.trajectory.selected.first().innerText(), reached, 'the end was reached');
  });

  story.step('is saved as a page that needs no server', async () => {
    const file = path.join(folder, 'saved.html');
    await story.code.workbench.command('Rollout: Open Batch…');
    await story.code.workbench.pick(/ended/);
    await story.batch.shown();
    await story.batch.button(/^Save/).click();
    await answerFile(story.code.workbench, /\.html$/, file);
    await until(() => existsSync(file) && statSync(file).size > 0, 90_000, 'the file');
    assert.match(readFileSync(file, 'utf8').slice(0, 200), /^<!DOCTYPE html>/i);
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
