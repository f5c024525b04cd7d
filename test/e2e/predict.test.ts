/**
 * Predictions in VS Code: a call that is held is predicted by a simulated world, runs, and the page shows where the
 * prediction was wrong; and the debugger steps into a call of a simulated world, to its prompt and thinking.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import type { Locator } from 'playwright-core';
import { Bench } from '../support/cli.ts';
import { Debugging } from './support/debugging.ts';
import { until } from './support/poll.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';
const PATIENCE_MS = 90_000;

/** Adds a world that knows the same library, but takes a book for another one and a loan for a longer one. */
function mistakenWorld(folder: string): void {
  const at = (...names: string[]): string => path.join(folder, 'worlds', ...names);
  const state = readFileSync(at('simulation', 'state.md'), 'utf8')
    .replace('"title":"The Salt Road"', '"title":"The Sugar Road"')
    .replace('"member_id":"M-1001","due":"2026-03-20"', '"member_id":"M-1001","due":"2026-03-24"');
  writeFileSync(at('simulation', 'mistaken.md'), state);
  const world = readFileSync(at('library-sim.world.yaml'), 'utf8');
  writeFileSync(
    at('mistaken.world.yaml'),
    world.replace('name: library-sim', 'name: mistaken').replace('simulation/state.md', 'simulation/mistaken.md'),
  );
}

describe('predictions in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=50&slots=16');
  mistakenWorld(folder);
  const story = new Story('predict', folder, { viewport: { width: 1600, height: 1000 } });
  const debug = new Debugging(() => story.code);
  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const cli = <T>(...args: string[]): Promise<T> =>
    (bench ??= new Bench({ store: story.code.server.store })).json<T>(args, { cwd: folder });
  const region = (name: string): Locator => story.trajectory.frame.getByRole('region', { name, exact: true });

  story.step('an attempt is held before a call, and the page offers to predict it', async () => {
    await debug.breakAt('loans.ts', 16, 'tool.arguments.loan_id == "L-3001"');
    await debug.launch('first.batch.yaml');
    await debug.move('continue');
    await debug.frame(TOOL).waitFor({ timeout: PATIENCE_MS });
    await story.trajectory.button('Predict').waitFor();
  });

  story.step('a world that the user chooses predicts the call before it is made', async () => {
    const { workbench } = story.code;
    await story.trajectory.button('Predict').click();
    await workbench.pick(/mistaken\.world\.yaml/);
    const predicted = region('Predicted by mistaken');
    await predicted.getByText('The Sugar Road').waitFor({ timeout: PATIENCE_MS });
    assert.match(await region('Result').innerText(), /has not ended yet/);
    const frame = story.trajectory.frame;
    await frame.getByText(/This prediction is not recorded/).waitFor();
    await frame.getByText('Thinking', { exact: true }).click();
    await frame.getByText(/Turn 3: the rules decide/).waitFor();
    await story.pictures('predict-held');
  });

  story.step('the call runs, and the page shows where the prediction was wrong', async () => {
    await debug.move('continue');
    await debug.ended.waitFor({ timeout: PATIENCE_MS });
    await story.trajectory.steps
      .getByRole('treeitem')
      .filter({ hasText: /renew_loan\s*loan_id/ })
      .first()
      .click();
    const places = region('Differences').getByRole('row');
    await places.filter({ hasText: 'title' }).waitFor();
    const texts = await places.allInnerTexts();
    assert.ok(
      texts.some((text) => /title\s+The Salt Road\s+The Sugar Road\s+deterministic/.test(text)),
      texts.join('\n'),
    );
    assert.ok(
      texts.some((text) => /due\s+2026-04-03\s+2026-04-07\s+pre-existing/.test(text)),
      texts.join('\n'),
    );
    await story.trajectory.frame.getByText(/1 place differs, and 1 value could not be known/).waitFor();
    const marked = (name: string): Locator =>
      region(name)
        .getByRole('treeitem')
        .filter({ has: story.trajectory.frame.getByRole('img', { name: /^deterministic/ }) });
    assert.match(await marked('Result').innerText(), /title/);
    assert.match(await marked('Predicted by mistaken').innerText(), /title/);
    await story.pictures('predict-wrong');
    await story.code.page.keyboard.press('Shift+F5');
    await story.code.page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  });

  story.step('the world is remembered, and another one predicts the call rightly', async () => {
    const { page, workbench } = story.code;
    await story.trajectory.steps.focus();
    await page.keyboard.press('w');
    await region('Differences').waitFor();
    await page.keyboard.press('Shift+W');
    await workbench.picks.filter({ hasText: 'used last' }).filter({ hasText: 'mistaken' }).waitFor();
    await workbench.pick(/library-sim\.world\.yaml/);
    await region('Predicted by library-sim').getByText('The Salt Road').waitFor({ timeout: PATIENCE_MS });
    await story.trajectory.frame.getByText(/^as predicted/).waitFor();
    await region('Differences').waitFor({ state: 'detached' });
  });

  story.step('the debugger steps into a call of a simulated world, to its prompt and thinking', async () => {
    const { page, workbench } = story.code;
    const { batch } = await cli<{ batch: string }>('run', 'batches/simulated.batch.yaml', '--attempts', '1');
    assert.ok(batch.startsWith('b'));
    await workbench.command('View: Close All Editors');
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/simulated/);
    await story.batch.shown();
    await story.batch.openCell(1, 1);
    await story.trajectory.shown();
    await page.keyboard.press('F5');
    await page.locator('.debug-toolbar').waitFor({ timeout: PATIENCE_MS });
    await workbench.command('View: Show Run and Debug');
    const top = debug.frame(/./);
    const world = debug.frame('World model');
    await debug.frame(/step 1|message/).waitFor({ timeout: PATIENCE_MS });
    for (let moves = 0; moves < 12 && !(await world.isVisible()); moves++) {
      const before = await top.innerText();
      await debug.move('step-into');
      await until(
        async () => (await world.isVisible()) || (await top.innerText()) !== before,
        PATIENCE_MS,
        'the next stop',
      );
    }
    await world.waitFor();
    await debug.variable(/reasoning.*I am the demo model/).waitFor();
    await page
      .locator('.tab')
      .filter({ hasText: /fines-total · 1/ })
      .click();
    await story.trajectory.selected.filter({ hasText: 'World model' }).waitFor();
    await story.trajectory.frame
      .getByText(/the rules decide/)
      .first()
      .waitFor();
    await story.trajectory.tab('Messages').click();
    await story.trajectory.frame
      .getByText(/You are the environment of an agent/)
      .first()
      .waitFor();
    await story.pictures('predict-side-call');
  });
});
