/** Attempts side by side: ways to the compare page from the tree, from the palette, and from the menu of the grid. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import type { Locator } from 'playwright-core';
import { trial } from '../support/tauTrial.ts';
import { answerFile } from './support/fileDialog.ts';
import { until } from './support/poll.ts';
import { emptyFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const calls = (days: number) => [
  { name: 'find_member', arguments: { name: 'Ada' }, result: '{"id": 3}' },
  { name: 'renew_loan', arguments: { loan_id: 17, days }, result: `{"days": ${days}}` },
];
const RECORDING = [
  ...[7, 14, 21].map((days, number) => trial('renew', number, number > 0 ? 1 : 0, calls(days))),
  ...[1, 2].map((days, number) => trial('extend', number, 0, calls(days))),
];

describe('attempts side by side', { timeout: 300_000 }, () => {
  const folder = emptyFolder();
  const story = new Story('compare', folder);
  const heads = (): Locator => story.code.workbench.webview().locator('.compare-head');

  /** Waits for the compare page of a task in front, and shows all its attempts. */
  async function compared(task: string, attempts: number): Promise<void> {
    await story.code.workbench.tab(`Attempts of ${task}`).waitFor();
    await story.code.workbench.webview().getByRole('button', { name: 'All', exact: true }).click();
    await heads()
      .nth(attempts - 1)
      .waitFor({ timeout: 60_000 });
    assert.equal(await heads().count(), attempts);
  }

  story.step('from the palette, which asks for the batch and the task', async () => {
    const { workbench } = story.code;
    const file = path.join(folder, 'attempts.json');
    writeFileSync(file, JSON.stringify(RECORDING));
    await workbench.command('Rollout: Import…');
    await answerFile(workbench, /[\\/]$/, file);
    await story.batch.shown();
    await workbench.command('View: Close All Editors'); // else the page names the batch
    await workbench.command('Rollout: Compare Attempts…');
    await workbench.pick(/attempts/);
    await workbench.pick(/renew/);
    await workbench.webview().getByRole('listbox', { name: 'Steps of both attempts' }).waitFor({ timeout: 60_000 });
    await compared('renew', 3);
  });

  story.step('from the menu of a task in the tree', async () => {
    const { workbench } = story.code;
    await workbench.openView('Rollout');
    await workbench.treeItem(/attempts/).click();
    await workbench.page.keyboard.press('ArrowRight');
    await workbench.treeItem(/^Task .*, extend · /).click({ button: 'right' });
    await workbench.chooseFromMenu('Compare Attempts…');
    await compared('extend', 2);
  });

  story.step('with C from an attempt in the tree that the arrow keys reached, which changes no selection', async () => {
    const { workbench } = story.code;
    const left = (): Locator => workbench.webview().locator('.two-head.is-left > b');
    await workbench.command('View: Close All Editors');
    await workbench.openView('Rollout');
    await workbench.treeItem(/^Task .*, extend · /).click();
    await workbench.treeItem(/^Attempt 1, failed/).waitFor();
    for (const attempt of ['attempt 1', 'attempt 2']) {
      await workbench.page.keyboard.press('ArrowDown');
      await workbench.page.keyboard.press('c');
      await workbench.tab('Attempts of extend').waitFor();
      await left().filter({ hasText: attempt }).waitFor({ timeout: 60_000 });
      assert.equal(await workbench.treeItem(/^Task .*, extend · /).getAttribute('aria-selected'), 'true');
      assert.equal(await workbench.treeItem(/^Attempt /).getAttribute('aria-selected'), 'false');
      // Back to the tree: the new page takes the keyboard once it has loaded.
      await until(
        async () => {
          await workbench.page.keyboard.press('Control+0');
          return workbench.page.locator('.monaco-list[role="tree"]:focus').isVisible();
        },
        60_000,
        'the keyboard in the tree',
      );
    }
    await workbench.treeItem(/^Attempt 2, failed/).click({ button: 'right' });
    assert.match((await workbench.menuItem('Compare Attempts…').textContent()) ?? '', /C$/);
    await workbench.page.keyboard.press('Escape');
  });

  story.step('from the menu of an attempt in the grid', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/attempts/);
    await story.batch.shown();
    await story.batch.grid.focus();
    await workbench.page.keyboard.press('Control+Home');
    await workbench.webview().getByRole('gridcell', { selected: true }).first().waitFor();
    await workbench.page.keyboard.press('Shift+F10');
    for (const title of ['Open Trajectory…', 'Debug', 'Fork…', 'Copy Reference'])
      await workbench.menuItem(title).waitFor();
    await workbench.chooseFromMenu('Compare Attempts…');
    await compared('renew', 3);
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
