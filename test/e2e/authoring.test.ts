/** Authoring agents and tools in VS Code: workspaces and files that commands create, and trying a tool in its panel. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { root } from '../support/cli.ts';
import { answerFile } from './support/fileDialog.ts';
import { until } from './support/poll.ts';
import { emptyFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;
const AWORLD = `agents:
  - { name: planner, system_prompt: Plan. }
  - { name: writer, system_prompt: Write. }
swarm: { type: workflow, order: [planner, writer] }
`;
const CLOCK =
  'openapi: 3.1.0\ninfo: { title: Clock }\nservers: [{ url: "http://localhost:1" }]\npaths: { /now: { get: { ' +
  'operationId: now, summary: Tells the time } } }\n';
const WORDS = `import { tool } from 'rollout-studio';
import { z } from 'zod';

export const count_words = tool({
  description: 'Counts the words of a text.', effect: 'pure',
  input: z.object({
    text: z.string().describe('Whose words are counted.'), least: z.int().min(1).max(20).default(1).describe('Shorter \
words do not count.'),
    without: z.array(z.string().max(40)).optional().describe('Words that do not count either.'), order: \
z.enum(['none', 'often', 'alphabet']).default('often'),
  }),
  run: ({ text, least, without = [] }, { log }) => {
    log('counting');
    const words = text.split(/\\s+/).filter((word) => word.length >= least && !without.includes(word));
    return [...new Set(words)].map((word) => ({ word, times: words.filter((other) => other === word).length, letters: \
word.length }));
  },
});

export const break_words = tool({
  description: 'Breaks.', input: z.object({}),
  run: () => {
    throw new Error('they are broken');
  },
});

export const wait_words = tool({
  description: 'Waits.', input: z.object({}), effect: 'pure',
  run: (_args, { log }) => {
    log('waiting');
    return new Promise(() => undefined);
  },
});
`;

describe('authoring in VS Code', { timeout: 480_000 }, () => {
  const folder = emptyFolder();
  const file = (...parts: readonly string[]): string => path.join(folder, ...parts);
  const story = new Story('authoring', folder, { viewport: { width: 1440, height: 900 } });
  /** The front panel, with its own document. */
  const panel = (): ReturnType<typeof story.code.workbench.webview> => story.code.workbench.webview();
  const tryLens = (index: number): ReturnType<typeof story.code.page.locator> =>
    story.code.page
      .locator('.codelens-decoration a')
      .filter({ hasText: /^\s*Try$/ })
      .nth(index);

  story.step('a GAIA workspace is created in an empty folder', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Create GAIA Workspace');
    await workbench.tab('gaia.agent.yaml').waitFor({ timeout: PATIENCE_MS });
    for (const made of [
      ['batches', 'gaia.batch.yaml'],
      ['prompts', 'gaia.md'],
    ])
      assert.ok(existsSync(file(...made)));
    await story.picture('authoring-gaia');
  });

  story.step('agents of AWorld are imported', async () => {
    const { workbench } = story.code;
    writeFileSync(file('pair.yaml'), AWORLD);
    await workbench.command('Rollout: Import Agents from AWorld…');
    await answerFile(workbench, /[\\/]$/, file('pair.yaml'));
    await workbench.tab('pair.agent.yaml').waitFor({ timeout: PATIENCE_MS });
    await workbench.toast(/Created 3 agent files/).waitFor();
    await workbench.clearToasts();
    await workbench.command('Rollout: Show Team');
    await panel().locator('svg text').getByText('writer').first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('authoring-team');
  });

  story.step('tools are created from an OpenAPI description', async () => {
    const { workbench } = story.code;
    writeFileSync(file('clock.yaml'), CLOCK);
    await workbench.command('Rollout: Import Tools from OpenAPI…');
    await workbench.pick(/File…/);
    await answerFile(workbench, /[\\/]$/, file('clock.yaml'));
    await until(
      async () => (await workbench.input.inputValue()) === 'tools/clock.ts',
      PATIENCE_MS,
      'the proposed module',
    );
    await workbench.input.press('Enter');
    await workbench.tab('clock.ts').waitFor({ timeout: PATIENCE_MS });
    await workbench.toast(/Created .*clock\.ts with 1 tool/).waitFor();
    await story.picture('authoring-openapi');
  });

  story.step('an MCP server of .vscode/mcp.json is added to an agent, with selected tools', async () => {
    const { workbench, page } = story.code;
    mkdirSync(file('.vscode'), { recursive: true });
    const everything = path.join(
      root,
      'node_modules',
      '@modelcontextprotocol',
      'server-everything',
      'dist',
      'index.js',
    );
    writeFileSync(
      file('.vscode', 'mcp.json'),
      JSON.stringify({ servers: { all: { command: process.execPath, args: [everything, 'stdio'] } } }),
    );
    await workbench.openFile('planner.agent.yaml');
    await workbench.command('Rollout: Add MCP Server…');
    await workbench.pick(/^all/);
    await page
      .locator('.quick-input-widget')
      .getByText('echo', { exact: true })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('authoring-add-server');
    await page.keyboard.press('Enter');
    await workbench.toast(/Added \d+ tools of “all” to planner\.agent\.yaml/).waitFor({ timeout: PATIENCE_MS });
    await workbench.save();
    const written = / {2}- mcp:\n {6}command: .*\n {6}args: \[.*server-everything.*, stdio\]\n {4}name: all\n/;
    await until(
      () => written.test(readFileSync(file('agents', 'planner.agent.yaml'), 'utf8')),
      PATIENCE_MS,
      'the entry',
    );
    await workbench.clearToasts();
  });

  story.step('new tools begin as files that run, in TypeScript and in Python', async () => {
    const { workbench } = story.code;
    for (const [language, name] of [
      ['TypeScript', 'count_letters.ts'],
      ['Python, MCP server', 'shout.py'],
    ] as const) {
      await workbench.command('Rollout: New Tool…');
      await workbench.pick(language);
      await workbench.inputTitle.waitFor();
      await until(
        async () => (await workbench.input.getAttribute('placeholder'))?.startsWith('count_words') === true,
        PATIENCE_MS,
        'the question for a name',
      );
      await workbench.answer(path.parse(name).name);
      await workbench.tab(name).waitFor({ timeout: PATIENCE_MS });
      assert.match(readFileSync(file('tools', name), 'utf8'), new RegExp(path.parse(name).name));
    }
  });

  story.step('a tool is tried where it is written: a form from its schema, its result and output', async () => {
    const { workbench, page } = story.code;
    await workbench.command('View: Close All Editors');
    writeFileSync(file('tools', 'words.ts'), WORDS);
    await workbench.openFile('words.ts');
    await tryLens(0).click();
    await workbench.tab('Try count_words').waitFor({ timeout: PATIENCE_MS });
    const least = panel().getByRole('textbox', { name: /^least/ });
    await panel().getByRole('textbox', { name: /^text/ }).fill('one two three two one two');
    await least.fill('0');
    await page.keyboard.press('Control+Enter');
    await panel().getByText('Must be at least 1.', { exact: true }).waitFor();
    await until(
      () => least.evaluate((element) => element === element.ownerDocument.activeElement),
      PATIENCE_MS,
      'the focus where something is wrong',
    );
    await least.fill('2');
    await page.keyboard.press('Control+Enter');
    await panel()
      .getByText(/^ok · /)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await panel().getByRole('cell', { name: 'three' }).waitFor();
    await panel().getByText('counting').first().waitFor();
    await story.picture('authoring-try');
  });

  story.step('its source is changed and saved: the form follows and keeps its values', async () => {
    const { workbench, page } = story.code;
    await panel()
      .getByRole('button', { name: /words\.ts/ })
      .first()
      .click();
    await workbench.tab('words.ts').waitFor();
    await workbench.goTo('Counts the words');
    await page.keyboard.insertText('Numbers the words');
    await workbench.save();
    await panel().getByText('Numbers the words of a text.').waitFor({ timeout: PATIENCE_MS });
    assert.equal(await panel().getByRole('textbox', { name: /^text/ }).inputValue(), 'one two three two one two');
  });

  story.step('a failing one shows the place and links to it; an irreversible one asks first', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.openFile('words.ts');
    await tryLens(1).click();
    await workbench.tab('Try break_words').waitFor({ timeout: PATIENCE_MS });
    await panel().getByRole('button', { name: 'Run', exact: true }).click();
    await workbench.dialog('Call break_words?').getByRole('button', { name: 'Call' }).click();
    await panel().getByText('they are broken').first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('authoring-try-failed');
    await panel()
      .getByRole('button', { name: /tools\/words\.ts:\d+/ })
      .first()
      .click();
    await workbench.tab('words.ts').waitFor();
    await workbench.atLine(WORDS.split('\n').findIndex((line) => line.includes('they are broken')) + 1).waitFor();
  });

  story.step('one that works on a world is called in that of a batch, and shows its changes', async () => {
    const { workbench, page } = story.code;
    cpSync(path.join(root, 'media', 'sample'), file('desk'), { recursive: true });
    await workbench.command('View: Close All Editors');
    await workbench.openFile('loans.ts');
    await tryLens(1).click();
    await workbench.tab('Try renew_loan').waitFor({ timeout: PATIENCE_MS });
    await panel()
      .getByRole('textbox', { name: /^loan_id/ })
      .fill('L-3001');
    await panel()
      .locator('.dropdown')
      .filter({ hasText: 'desk/batches/desk.batch.yaml' })
      .waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Control+Enter');
    await panel()
      .getByText(/^ok · /)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await panel().getByRole('region', { name: 'Changes in loans' }).getByText('2026-04-03').waitFor();
    await story.picture('authoring-try-world');
  });

  story.step('one that takes too long is cancelled', async () => {
    const { workbench, page } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.openFile('words.ts');
    await tryLens(2).click();
    await workbench.tab('Try wait_words').waitFor({ timeout: PATIENCE_MS });
    await panel().getByRole('button', { name: 'Run', exact: true }).click();
    await panel().getByText('waiting').first().waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Escape');
    await panel().getByText('cancelled').first().waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual(story.code.consoleErrors(), []);
  });

  story.step('after a reload of the window it is restored, and may be run', async () => {
    const { workbench, page } = story.code;
    await story.code.reload('"tool":"wait_words"');
    await workbench.tab('Try wait_words').waitFor({ timeout: PATIENCE_MS });
    await panel().getByRole('button', { name: 'Run', exact: true }).click({ timeout: PATIENCE_MS });
    await panel().getByText('waiting').first().waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Escape');
    await panel().getByText('cancelled').first().waitFor({ timeout: PATIENCE_MS });
  });
});
