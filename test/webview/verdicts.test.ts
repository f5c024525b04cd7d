// Later verdicts on the trajectory page: the list, the mark where they disagree, labels by key and menu, and links.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('trajectory');

/** The last action that the page requested, once it requested one. */
async function action(page: Page): Promise<unknown> {
  await page.waitForFunction(() => document.body.dataset['action'] !== undefined);
  const text = await page.evaluate(() => {
    const kept = document.body.dataset['action'] ?? '';
    delete document.body.dataset['action'];
    return kept;
  });
  return JSON.parse(text);
}

describe('verdicts on the trajectory page', { timeout: 120_000 }, () => {
  it('lists the reward, scorers, and people, marks that they disagree, and links to the rollout that scored', () =>
    open('verdicts', async (page) => {
      const list = page.getByRole('region', { name: 'Verdicts of all scorers' });
      await list.getByText('Verdicts disagree').waitFor();
      const texts = await list.getByRole('listitem').allInnerTexts();
      assert.deepEqual(
        texts.map((text) => /reward|careful judge|regex|ada|someone/.exec(text)?.[0]),
        ['reward', 'careful judge', 'regex', 'ada', 'someone'],
      );
      assert.match(texts[1] ?? '', /0\.8[\s\S]*version 4e1f09c2, by ada/);
      await list.getByText('careful judge').click();
      assert.deepEqual(await action(page), { do: 'open', place: { page: 'trajectory', rollout: 'r2s3' } });
    }));

  it('labels the attempt by key, and withdraws the label in the menu', () =>
    open('verdicts', async (page) => {
      await page.getByText('Verdicts disagree').waitFor();
      await page.keyboard.press('+');
      assert.deepEqual(await action(page), { do: 'label', rollout: 'r1', passed: true });
      await page.keyboard.press('-');
      assert.deepEqual(await action(page), { do: 'label', rollout: 'r1', passed: false });
      await page.locator('vscode-button[aria-label="More"]').click();
      await page.getByText('Withdraw My Label').click();
      assert.deepEqual(await action(page), { do: 'label', rollout: 'r1', passed: null });
    }));

  it('says which rollout is scored again, and leads to it', () =>
    open('rescoring', async (page) => {
      const mark = page.locator('.verdict-rescores');
      await mark.waitFor();
      assert.equal((await mark.innerText()).trim(), 'Scores r17x3 again.');
      await mark.getByText('r17x3').click();
      assert.deepEqual(await action(page), { do: 'open', place: { page: 'trajectory', rollout: 'r17x3' } });
    }));
});
