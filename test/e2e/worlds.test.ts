/** Worlds in VS Code: the view with thousands of scenarios, and what can be done with one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { scenarioRows, writeAwmFolder } from '../support/awmFolder.ts';
import { answerFile } from './support/fileDialog.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 30_000;
const SCENARIOS = 350;
const WORLD = 'version: 1\nname: crates\nkind: code\nformat: awm\nfrom: ../data/awm\npython: missing/python\n';
/** Code worlds run on machines with Python 3.10 or later. */
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;

describe('worlds in VS Code', { timeout: 480_000 }, () => {
  const folder = sampleFolder();
  mkdirSync(path.join(folder, 'data', 'awm'), { recursive: true });
  writeAwmFolder(
    path.join(folder, 'data', 'awm'),
    Array.from({ length: SCENARIOS }, (_, index) => scenarioRows(index === 340 ? 'harbor_340' : `shelf_${index}`)),
  );
  writeFileSync(path.join(folder, 'worlds', 'crates.world.yaml'), WORLD);
  const story = new Story('worlds', folder, { viewport: { width: 1440, height: 900 } });
  const item = (name: RegExp): ReturnType<typeof story.code.workbench.treeItem> => story.code.workbench.treeItem(name);
  const page = (): ReturnType<typeof story.code.workbench.webview> => story.code.workbench.webview();
  /** Opens an item with its arrow. */
  const expand = (name: RegExp): Promise<void> => item(name).locator('.monaco-tl-twistie').click();

  story.step('the view lists world files, pages of scenarios, and tasks', async () => {
    const { workbench } = story.code;
    assert.ok(await workbench.offers('Rollout: Open World…'), 'before the view was opened');
    await workbench.command('Rollout: Focus on Worlds View');
    await item(/^World crates/).waitFor({ timeout: PATIENCE_MS });
    await expand(/^World crates/);
    await item(/^World crates, code · 350 scenarios/).waitFor({ timeout: PATIENCE_MS });
    await item(/^Scenario shelf_0, 2 tasks/).waitFor();
    await expand(/^World crates/);
    await expand(/^World library, TypeScript/);
    await item(/^Task renew-one/).waitFor({ timeout: PATIENCE_MS });
    await story.picture('worlds-view');
  });

  story.step('a scenario is found by its words and opened', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Open World…');
    await workbench.input.fill('harbor rename_box');
    await workbench.pick(/harbor_340/);
    await workbench.tab('harbor_340').waitFor({ timeout: PATIENCE_MS });
    await page().getByText('Rename the red box to crimson box.').first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('worlds-page');
  });

  story.step('its page shows tables, rows, tools, and code, which opens in an editor', async () => {
    const { workbench } = story.code;
    await page()
      .getByRole('tab', { name: /^Schema/ })
      .click();
    await page().getByRole('option', { name: /boxes/ }).dblclick();
    await page().getByText('red box', { exact: true }).waitFor();
    await page()
      .getByRole('tab', { name: /^Tools/ })
      .click();
    await page().getByText('GET /boxes').waitFor();
    await page().getByRole('tab', { name: /^Code/ }).click();
    await page().getByText('from fastapi import FastAPI').waitFor();
    await page().getByRole('button', { name: 'Open in Editor' }).click();
    await workbench.tab('code.py').waitFor();
  });

  story.step('it is driven for one of its own tasks; without Python, its page offers to set it up', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close Editor');
    await workbench.tab('harbor_340').waitFor();
    await page()
      .getByRole('tab', { name: /^Drive/ })
      .click();
    await page().getByRole('button', { name: 'Open for Task 0' }).click();
    await page()
      .getByText(/Worlds of kind code need .* which is missing/)
      .waitFor({ timeout: PATIENCE_MS });
    await page().getByRole('button', { name: 'Set Up Python…' }).waitFor();
    await story.picture('worlds-drive-python');
  });

  story.step('it is extracted into the workspace, and the copy has its own page', async () => {
    const { workbench } = story.code;
    await page().getByRole('button', { name: 'Extract to Workspace' }).click();
    await workbench.tab('harbor_340.world.yaml').waitFor({ timeout: PATIENCE_MS });
    const code = path.join(folder, 'worlds', 'harbor_340', 'gen_envs', 'harbor_340.py');
    writeFileSync(code, `${readFileSync(code, 'utf8')}# edited\n`);
    await workbench.command('Rollout: Open World…');
    await workbench.input.fill('harbor_340');
    await workbench.pick(/harbor_340\.world\.yaml/);
    await page().getByText('Rename the red box to crimson box.').first().waitFor({ timeout: PATIENCE_MS });
    await page().getByRole('tab', { name: /^Code/ }).click();
    await page().getByText('# edited').waitFor();
  });

  story.step('a published folder is added: a world file that uses it, and whose scenarios are completed', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.command('Rollout: Add World…');
    await workbench.pick('Published worlds');
    await answerFile(workbench, /[\\/]$/, path.join(folder, 'data', 'awm'));
    await workbench.inputTitle.filter({ hasText: 'Add World' }).waitFor({ timeout: PATIENCE_MS });
    await workbench.answer('boxes');
    await workbench.tab('boxes.world.yaml').waitFor({ timeout: PATIENCE_MS });
    const file = path.join(folder, 'worlds', 'boxes.world.yaml');
    assert.match(readFileSync(file, 'utf8'), /^format: awm\nfrom: "?\.\.\/data\/awm"?$/m);
    await workbench.editorFocused();
    await story.code.page.keyboard.press('ControlOrMeta+End');
    await story.code.page.keyboard.type('scenario: harb');
    const suggestion = story.code.page.locator('.suggest-widget .monaco-list-row').filter({ hasText: 'harbor_340' });
    await suggestion.waitFor({ timeout: PATIENCE_MS });
    await story.code.page.keyboard.press('Escape');
    await workbench.command('File: Revert File');
    await workbench.command('Rollout: Focus on Worlds View');
    await item(/^World boxes, code/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('a TypeScript world is driven: a call, an earlier state, a branch, and a verdict', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.command('Rollout: Open World…');
    await workbench.input.fill('library.world');
    await workbench.pick(/library\.world\.yaml/);
    await page()
      .getByRole('tab', { name: /^Drive/ })
      .click({ timeout: PATIENCE_MS });
    await page().getByRole('button', { name: 'Open for renew-one' }).click();
    const states = page().getByRole('region', { name: 'States' });
    const changes = page().getByRole('region', { name: 'Changes of the last call' });
    const call = async (tool: string, args: Readonly<Record<string, string>>): Promise<void> => {
      await page()
        .getByRole('option', { name: new RegExp(`^${tool}`) })
        .click();
      for (const [name, value] of Object.entries(args))
        await page()
          .getByRole('textbox', { name: new RegExp(`^${name}`) })
          .fill(value);
      await page().getByRole('button', { name: 'Run Call' }).click();
    };
    await page()
      .getByRole('option', { name: /^list_loans/ })
      .waitFor({ timeout: PATIENCE_MS });
    await call('list_loans', { member_id: 'M-1001' });
    await changes.getByText('This call changed nothing.').waitFor({ timeout: PATIENCE_MS });
    await call('return_book', { loan_id: 'L-3001' });
    await states.getByRole('button', { name: /^return_book/ }).waitFor();
    await states.getByRole('button', { name: /^list_loans/ }).click();
    await states.locator('.is-now').getByText('list_loans').waitFor();
    await call('renew_loan', { loan_id: 'L-3001' });
    await changes.getByText('2026-04-03').waitFor();
    await page().getByRole('button', { name: 'Verify' }).click();
    await page()
      .getByText(/2 of 3 checks/)
      .waitFor({ timeout: PATIENCE_MS });
    await page().locator('.drive-answer input').fill('2026-04-03');
    await page().getByRole('button', { name: 'Verify' }).click();
    await page()
      .getByText(/passed 3 of 3 checks/)
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('worlds-drive');
  });

  story.step('it is kept as a demonstration, which is a trajectory like any other', async () => {
    const { workbench } = story.code;
    await page().getByRole('button', { name: 'Keep as Demonstration' }).click();
    await page().getByText('Kept as demonstration.').waitFor({ timeout: PATIENCE_MS });
    await page().getByRole('button', { name: 'Show Trajectory' }).click();
    await workbench.tab(/Mira Okafor .* · 1/).waitFor({ timeout: PATIENCE_MS });
    await page().getByText('renew_loan').first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('worlds-demonstration');
  });

  if (!hasPython) return;
  story.step('a failed call of a code world leads to the line that threw', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.command('Rollout: Open World…');
    await workbench.input.fill('rooms');
    await workbench.pick(/rooms\.world\.yaml/);
    await page()
      .getByRole('option', { name: /Which room is booking B-3 for/ })
      .click({ timeout: PATIENCE_MS });
    await page()
      .getByRole('tab', { name: /^Drive/ })
      .click();
    await page().getByRole('button', { name: 'Open for Task 2' }).click();
    await page()
      .getByRole('listbox', { name: 'Tools' })
      .and(page().locator(':focus'))
      .waitFor({ timeout: PATIENCE_MS });
    const { keyboard } = workbench.page;
    await keyboard.press('/');
    await keyboard.type('show_booking');
    for (const key of ['Enter', 'Enter']) await keyboard.press(key); // to the list, to the form
    await keyboard.type('B-3');
    await keyboard.press('Control+Enter');
    await page()
      .getByRole('button', { name: /study_rooms\.py:29/ })
      .click({ timeout: PATIENCE_MS });
    await workbench.tab('code.py').waitFor();
    await workbench.atLine(29).waitFor();
  });

  story.step('a finding leads to its line, and is gone once the line is corrected', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors in Group');
    await page()
      .getByRole('tab', { name: /^Health/ })
      .click();
    await page().getByRole('button', { name: 'Check Now' }).click();
    await page()
      .getByRole('button', { name: /bookings\.json:4/ })
      .click({ timeout: PATIENCE_MS });
    await workbench.tab('bookings.json').waitFor();
    await workbench.atLine(4).waitFor();
    for (const key of ['ArrowRight', 'Delete', 'Delete', 'Delete']) await workbench.page.keyboard.press(key); // "R-9"
    await workbench.page.keyboard.type('R-2');
    await workbench.save();
    await workbench.command('View: Close Editor');
    await page().getByText('No findings.').waitFor({ timeout: PATIENCE_MS });
    await story.picture('worlds-corrected');
  });
});
