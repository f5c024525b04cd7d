/**
 * From one batch to the next: page breakpoints as editor breakpoints, a fork with another agent, two batches side by
 * side, a link back.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { editorUrl } from '../../src/protocol/editorLink.ts';
import { Bench } from '../support/cli.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';
const PATIENCE_MS = 90_000;

describe('forks in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  const agent = readFileSync(path.join(folder, 'agents', 'desk.agent.yaml'), 'utf8');
  writeFileSync(
    path.join(folder, 'agents', 'careful.agent.yaml'),
    agent.replace('temperature: 1.0', 'temperature: 0.2'),
  );
  const story = new Story('fork', folder, { viewport: { width: 1500, height: 950 } });
  let parent = '';

  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const cli = <T>(...args: string[]): Promise<T> =>
    (bench ??= new Bench({ store: story.code.server.store })).json<T>(args, { cwd: folder });

  story.step('a breakpoint that is set in the page is one of VS Code’s own, and is removed with it', async () => {
    const { workbench, page } = story.code;
    ({ batch: parent } = await cli<{ batch: string }>('run', 'batches/first.batch.yaml', '--attempts', '2'));
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/first|desk/);
    await story.batch.shown();
    await story.batch.openCell(0, 1);
    await story.trajectory.shown();
    await story.trajectory.steps
      .getByRole('treeitem')
      .filter({ hasText: /renew_loan\s*loan_id/ })
      .first()
      .click();
    await story.trajectory.steps.focus();
    await page.keyboard.press('b');
    const mark = story.trajectory.steps.locator('.breakpoint-mark').first();
    await mark.waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Control+Shift+D');
    const listed = page.locator('.debug-breakpoints .monaco-list-row').filter({ hasText: TOOL }).first();
    await listed.waitFor({ timeout: PATIENCE_MS });
    await story.picture('fork-breakpoint');
    await listed.click({ button: 'right' });
    await story.code.workbench.chooseFromMenu(/^Remove (Function )?Breakpoint$/);
    await listed.waitFor({ state: 'detached', timeout: PATIENCE_MS });
    await mark.waitFor({ state: 'detached', timeout: PATIENCE_MS });
  });

  story.step('Fork… asks what runs, reports the differences, and opens the new batch beside its parent', async () => {
    const { workbench } = story.code;
    await story.trajectory.steps.focus();
    await workbench.command('Rollout: Fork…');
    await workbench.pick('Another agent…');
    await workbench.pick(/careful\.agent\.yaml/);
    await workbench.picks
      .filter({ hasText: /agent\.model\.sampling\.temperature: 1 → 0\.2/ })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await workbench.pick(/Fork with These Differences/);
    await workbench.answerNext('3');
    const head = story.batch.frame.locator('.batch-parent');
    await head.waitFor({ timeout: PATIENCE_MS });
    assert.match(await head.innerText(), /fork of .*, changed/);
    await story.batch.progress.filter({ hasText: '3/3' }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('fork-batch');
  });

  story.step('the link to the parent leads to the call at the cut', async () => {
    await story.batch.frame.locator('.batch-parent').click();
    await story.trajectory.selected.filter({ hasText: TOOL }).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('two selected batches are shown side by side', async () => {
    const { workbench } = story.code;
    await cli('run', 'batches/first.batch.yaml', '--attempts', '2', '--seed', '99');
    await workbench.openView('Rollout');
    const batches = story.code.page
      .locator('.pane')
      .filter({ hasText: 'Batches' })
      .getByRole('treeitem')
      .filter({ hasText: /first.*pass@1/ });
    await batches.nth(2).waitFor({ timeout: PATIENCE_MS });
    await batches.nth(0).click();
    await batches.nth(2).click({ modifiers: ['ControlOrMeta'] });
    await batches.nth(0).click({ button: 'right' });
    await workbench.chooseFromMenu('Compare Batches…');
    await story.batch.heading.filter({ hasText: '→' }).waitFor({ timeout: PATIENCE_MS });
    await story.batch.frame.getByRole('table', { name: /Paired differences/ }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('fork-batches');
  });

  story.step('a link to a step opens it', async () => {
    const { workbench, page } = story.code;
    const { rollouts } = await cli<{ rollouts: readonly { rollout: string }[] }>('show', parent);
    const rollout = rollouts[0]?.rollout ?? '';
    await workbench.command('View: Close All Editors');
    await workbench.command('Developer: Open URL');
    await workbench.answer(editorUrl({ page: 'trajectory', rollout, step: 2 }).replace(/^vscode:/, 'code-oss:'));
    const open = page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open', exact: true });
    await Promise.race([open.click({ timeout: PATIENCE_MS }), story.trajectory.shown()]).catch(() => undefined);
    await story.trajectory.shown();
    assert.match(await story.trajectory.selected.first().innerText(), /^\s*2\b/);
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
