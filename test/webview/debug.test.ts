// Debugging on the trajectory page: breakpoints, edits in place and as forks, copies.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('trajectory');

function steps(page: Page): Locator {
  return page.getByRole('tree', { name: 'Steps' });
}

function row(page: Page, text: string): Locator {
  return steps(page).getByRole('treeitem').filter({ hasText: text });
}

function mark(page: Page, text: string, kind: RegExp): Locator {
  return row(page, text).getByRole('img', { name: kind });
}

async function notice(page: Page, text: string): Promise<void> {
  await page.locator('.notice').filter({ hasText: text }).waitFor();
}

describe('breakpoints on the trajectory page', { timeout: 300_000 }, () => {
  it('are set with B, narrowed with Shift+B, and removed', () =>
    open('held', async (page) => {
      await row(page, 'find_member').click();
      await page.keyboard.press('b');
      await mark(page, 'find_member', /^breakpoint$/).waitFor();
      await page.keyboard.press('Shift+B');
      const box = page.getByRole('region', { name: 'Breakpoints' });
      await box.getByText('Matches 1 of 1 call of this rollout so far.').waitFor();
      await page.keyboard.type('tool.arguments.name == "Ada"');
      await box.getByText('Matches 0 of 1 call of this rollout so far.').waitFor();
      await page.keyboard.press('Enter');
      await box.waitFor({ state: 'detached' });
      await mark(page, 'find_member', /^conditional breakpoint$/).waitFor();
      await steps(page).focus();
      await page.keyboard.press('b');
      await mark(page, 'find_member', /breakpoint/).waitFor({ state: 'detached' });
    }));

  it('are set by a click in the margin, one for all calls of a tool', () =>
    open('breakpoints', async (page) => {
      await mark(page, 'find_member', /^logpoint$/).waitFor();
      assert.equal(
        await steps(page)
          .getByRole('img', { name: /^conditional breakpoint/ })
          .count(),
        2,
      );
      await row(page, 'loans_of').locator('.step-gutter').click();
      await page.getByRole('treeitem', { selected: true }).filter({ hasText: 'loans_of' }).waitFor();
      await row(page, 'loans_of').locator('.step-gutter').click({ button: 'right' });
      const box = page.getByRole('region', { name: 'Breakpoints' });
      await box.getByText('Another client').waitFor();
      await box.getByRole('button', { name: 'Remove breakpoint on find_member' }).click();
      await mark(page, 'find_member', /logpoint/).waitFor({ state: 'detached' });
    }));

  it('with an invalid condition are refused where it is typed', () =>
    open('breakpoint-new', async (page) => {
      const box = page.getByRole('region', { name: 'Breakpoints' });
      await box.waitFor();
      await page.keyboard.type('tool.arguments.');
      await page.keyboard.press('Enter');
      await box.getByRole('alert').filter({ hasText: 'incomplete' }).waitFor();
      await page.keyboard.press('Escape');
      await box.waitFor({ state: 'detached' });
    }));

  it('cannot be set on a read-only page', () =>
    open('read-only', async (page) => {
      await steps(page).focus();
      await page.keyboard.press('b');
      await notice(page, 'This page is read-only.');
      assert.equal(await page.locator('.breakpoint-mark').count(), 0);
    }));
});

describe('edits on the trajectory page', { timeout: 300_000 }, () => {
  it('change a held event in place: one main button, with the request next to it', () =>
    open('held', async (page) => {
      await page.getByRole('button', { name: 'Edit arguments' }).first().click();
      const form = page.getByRole('region', { name: 'Edit: Arguments' });
      await form.getByText('This rollout will not count in statistics').waitFor();
      assert.equal(await form.locator('.button.is-primary').count(), 1);
      const days = form.getByRole('textbox', { name: 'days' });
      await days.fill('seven');
      await page.keyboard.press('Enter');
      await form.getByRole('alert').filter({ hasText: 'Enter valid JSON for days' }).waitFor();
      await days.fill('7');
      await form.getByText('requested 14').waitFor();
      await form.getByRole('button', { name: 'Apply and resume' }).click();
      await form.waitFor({ state: 'detached' });
    }));

  it('survive looking elsewhere, and are discarded with Escape', () =>
    open('held', async (page) => {
      await page.getByRole('button', { name: 'Edit arguments' }).first().click();
      const form = page.getByRole('region', { name: 'Edit: Arguments' });
      await form.getByRole('textbox', { name: 'days' }).fill('9');
      await row(page, 'find_member').click();
      await form.waitFor({ state: 'detached' });
      await row(page, 'renew_loan').last().click();
      await page.waitForFunction(
        `[...document.querySelectorAll('.edit-form vscode-text-field')].some((field) => field.value === '9')`,
      );
      await form.getByRole('textbox', { name: 'days' }).focus();
      await page.keyboard.press('Escape');
      await form.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: 'Arguments' }).waitFor();
    }));

  it('of past events become a fork with several attempts', () =>
    open('edit-as-fork', async (page) => {
      const form = page.getByRole('region', { name: 'Edit: Arguments' });
      await form.getByText('your edit starts a fork').waitFor();
      assert.equal(await form.getByRole('textbox', { name: 'Attempts of the fork' }).inputValue(), '4');
      await form.getByRole('button', { name: 'Apply and fork' }).click();
      await form.waitFor({ state: 'detached' });
    }));

  it('require a text for a message', () =>
    open('say-form', async (page) => {
      const form = page.getByRole('region', { name: 'Edit: Message to the agent' });
      await form.getByRole('button', { name: 'Add and resume' }).click();
      await form.getByRole('alert').waitFor();
      await form.getByRole('textbox', { name: 'message' }).fill('Seven days are enough.');
      await page.keyboard.press('Control+Enter');
      await form.waitFor({ state: 'detached' });
    }));
});

describe('copies and forks on the trajectory page', { timeout: 300_000 }, () => {
  it('offer by Y what can be copied, and go to an item by its letter', () =>
    open('why', async (page) => {
      await row(page, 'find_member').click();
      await page.keyboard.press('y');
      const menu = page.getByRole('menu', { name: 'Copy' });
      await menu.locator('[role="menuitem"]:focus').waitFor();
      assert.deepEqual(await menu.getByRole('menuitem').allTextContents(), [
        'Reference',
        'Link for VS Code',
        'Link for a browser',
        'Step as Markdown',
        'Trajectory as Markdown',
        'Model call as cURL',
        'Messages of the call as JSON',
        'Events as JSON',
      ]);
      await page.keyboard.press('m');
      assert.equal(await page.locator(':focus').textContent(), 'Model call as cURL');
      await page.keyboard.press('Enter');
      await notice(page, 'Copied');
      await menu.waitFor({ state: 'detached' });
    }));

  it('show the forks at their cut, with their outcome', () =>
    open('forks', async (page) => {
      const forks = page.getByRole('group', { name: 'Forks' }).getByRole('button');
      await forks.first().waitFor();
      assert.equal(await forks.count(), 4);
      assert.match(
        (await forks.first().textContent()) ?? '',
        / 4 × \d+\/\d+, nightly@\d+: 4 continuations from event \d+, \d+ of \d+ passed$/u,
      );
      await page.locator('.step-mark.is-fork').first().waitFor();
      assert.equal(await page.locator('.step-mark.is-fork').count(), 3, 'two forks of one place stand together');
    }));
});
