/**
 * The language of agent files: mistakes appear while typing, quick fixes fix them, and names are linked and renamed
 * everywhere.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { until } from './support/poll.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;
const LOST = 'The language server stopped several times';
const PROMPT = 'Renew with renew_loan, for {{task.question}} at {{task.meta.desk}}.\n';

describe('the language of agent files', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  const file = (...parts: readonly string[]): string => path.join(folder, ...parts);
  const text = (...parts: readonly string[]): string => readFileSync(file(...parts), 'utf8');
  writeFileSync(
    file('agents', 'desk.agent.yaml'),
    `${text('agents', 'desk.agent.yaml').replace('limits:', 'limts:')}answer: { tool: renew_loan }\n`,
  );
  writeFileSync(file('prompts', 'desk.md'), PROMPT);
  writeFileSync(
    file('data', 'tasks.jsonl'),
    text('data', 'tasks.jsonl').replaceAll(/^\{/gm, '{"desk": "first floor", '),
  );
  const story = new Story('language', folder, { settings: { 'editor.hover.delay': 100 } });

  story.step('a mistake is underlined, and fixed by its quick fix', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('agents/desk.agent.yaml');
    await workbench.squiggle('error').waitFor({ timeout: PATIENCE_MS });
    await workbench.goTo('limts');
    await story.picture('language-squiggle');
    const fix = page
      .locator('.action-widget .monaco-list-row')
      .filter({ hasText: /limits/ })
      .first();
    await until(
      async () => {
        // VS Code shows what it knows when the key is pressed.
        await page.keyboard.press('Control+.');
        return await fix.waitFor({ timeout: 5_000 }).then(
          () => true,
          () => false,
        );
      },
      PATIENCE_MS,
      'the quick fix',
    );
    await fix.click();
    await workbench.squiggle('error').waitFor({ state: 'detached' });
    await workbench.save();
    await until(() => /^limits:/m.test(text('agents', 'desk.agent.yaml')), PATIENCE_MS, 'the fixed file');
  });

  story.step('the name of a tool leads to its function', async () => {
    const { workbench, page } = story.code;
    await workbench.goTo('renew_loan');
    await page.keyboard.press('F12');
    await workbench.tab('loans.ts').waitFor();
    const line =
      text('tools', 'loans.ts')
        .split('\n')
        .findIndex((one) => one.includes('renew_loan')) + 1;
    await workbench.atLine(line).waitFor();
  });

  story.step('a tool is renamed in code, in the prompt and in the agent at once', async () => {
    const { workbench, page } = story.code;
    await page.keyboard.press('F2');
    const box = page.locator('.rename-box input');
    await box.waitFor();
    assert.equal(await box.inputValue(), 'renew_loan');
    await box.fill('prolong');
    await box.press('Enter');
    await box.waitFor({ state: 'hidden' });
    await until(
      async () => {
        await workbench.command('File: Save All Files');
        return (
          text('tools', 'loans.ts').includes('export const prolong = tool(') &&
          text('agents', 'desk.agent.yaml').includes('{ tool: prolong }')
        );
      },
      PATIENCE_MS,
      'the renamed tool',
    );
    assert.equal(text('prompts', 'desk.md'), PROMPT.replace('renew_loan', 'prolong'));
  });

  story.step('a column is renamed in the dataset, with everything that names it', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('tasks.jsonl');
    await workbench.goTo('desk');
    await page.keyboard.press('F2');
    const box = page.locator('.rename-box input');
    await box.waitFor();
    assert.equal(await box.inputValue(), 'desk');
    await box.fill('counter');
    await box.press('Enter');
    await box.waitFor({ state: 'hidden' });
    await until(
      async () => {
        await workbench.command('File: Save All Files');
        return (
          text('data', 'tasks.jsonl').includes('"counter":') &&
          !text('data', 'tasks.jsonl').includes('"desk":') &&
          text('prompts', 'desk.md').includes('{{task.meta.counter}}')
        );
      },
      PATIENCE_MS,
      'the renamed column',
    );
  });

  story.step('a server that dies is restarted, three times automatically, then on request', async () => {
    const { workbench } = story.code;
    const pids = (): number[] =>
      [...story.code.server.hostLogs().matchAll(/language server runs as process (\d+)/g)].map((match) =>
        Number(match[1]),
      );
    const killed = (): void => void process.kill(pids().at(-1) ?? 0, 'SIGKILL');
    const started = (count: number): Promise<boolean> =>
      until(() => pids().length === count, PATIENCE_MS, `language server ${count}`);
    assert.equal(pids().length, 1);
    for (const count of [2, 3, 4]) {
      killed();
      await started(count);
    }
    killed();
    await workbench.toast(LOST).waitFor({ timeout: PATIENCE_MS });
    await workbench.toastButton(LOST, 'Restart');
    await started(5);
  });

  story.step('a prompt shows its token count, and where it names a field that no task has', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('prompts/desk.md');
    await page
      .locator('.view-line')
      .getByText(/≈.\d+.tokens/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Control+End');
    await page.keyboard.type('Of {{task.meta.colour}}.');
    await workbench.squiggle('error').waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual(
      story.code.consoleErrors().filter((error) => !error.startsWith(LOST)),
      [],
    );
  });
});
