/**
 * Tool calls in the tools' source: statistics over them, real calls in a peek view, a call made again, a test saved
 * from it.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { Bench } from '../support/cli.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const TOOL = 'renew_loan';
const PATIENCE_MS = 90_000;

/** An agent with its own tool, because the sample's tools belong to its world; its demo model follows the question. */
const SHELVES: Readonly<Record<string, string>> = {
  'tools/shelves.ts': `import { tool } from 'rollout-studio';
import { z } from 'zod';

export const find_shelf = tool({
  description: 'Tells the shelf of a book.', effect: 'pure',
  input: z.object({ book_id: z.string().regex(/^B-/).max(9).describe('Id of a book, like B-201'), floor: \
z.int().min(0).max(3).default(0) }),
  run: ({ book_id, floor }, { log }) => {
    log(\`looking for \${book_id}\`);
    return { shelf: \`\${floor}-\${book_id.slice(2)}\`, near: ['the window', 'the stairs'] };
  },
});
`,
  'agents/shelves.agent.yaml':
    "version: 1\nname: shelves\nmodel: { endpoint: 'demo:?latency_ms=20', name: demo }\nprompt: You find " +
    'shelves.\ntools:\n  - module: ../tools/shelves.ts\n',
  'data/shelves.jsonl': `${JSON.stringify({
    id: 'one',
    question: 'call find_shelf {"book_id": "B-201", "floor": ' + '2}',
    answer: '2-201',
  })}\n`,
  'batches/shelves.batch.yaml':
    'version: 1\nagent: ../agents/shelves.agent.yaml\ndataset: { file: ../data/shelves.jsonl, question: ' +
    'question, answer: answer }\nscorer: { kind: contains }\n',
};

interface Figures {
  readonly tools: readonly {
    readonly tool: string;
    readonly calls: number;
    readonly byClass: { readonly unknown_tool?: number };
  }[];
}

describe('calls of tools in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=20&slots=32');
  const story = new Story('tool calls', folder, { viewport: { width: 1600, height: 1000 } });
  let figures: Figures;

  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const cli = <T>(...args: string[]): Promise<T> =>
    (bench ??= new Bench({ store: story.code.server.store })).json<T>(args, { cwd: folder });
  const figuresOf = (tool: string): Figures['tools'][number] => {
    const found = figures.tools.find((row) => row.tool === tool);
    assert.ok(found, `the batch called ${tool}`);
    return found;
  };
  const peek = (): ReturnType<typeof story.code.page.locator> => story.code.page.locator('.peekview-widget');

  story.step('a batch that was run outside shows call statistics over each tool', async () => {
    const { workbench } = story.code;
    const { batch } = await cli<{ batch: string }>('run', 'batches/desk.batch.yaml', '--attempts', '3');
    figures = await cli<Figures>('tools', batch);
    await workbench.openFile('loans.ts');
    const { calls } = figuresOf(TOOL);
    await workbench
      .codeLens(new RegExp(`^${calls.toLocaleString('en')} calls? · .*p50 .*, p95 .* · in .* of passed`))
      .waitFor({ timeout: PATIENCE_MS });
    await workbench.codeLens(/desk, .*(now|ago)/).waitFor();
    await story.picture('tools-lenses');
  });

  story.step('lines that threw are marked', async () => {
    const { workbench, page } = story.code;
    const {
      shown: [failed],
    } = await cli<{
      shown: readonly { readonly error: { readonly place: { readonly file: string; readonly line: number } } }[];
    }>('tools', 'last', '--calls', TOOL, '--errors');
    assert.ok(failed, `a call of ${TOOL} failed`);
    const { file, line } = failed.error.place;
    await workbench.openFile(path.posix.basename(file));
    await page.keyboard.press('Control+G');
    await workbench.answer(`:${line}`);
    await workbench.atLine(line).waitFor();
    const mark = page.locator('.glyph-margin-widgets .cgmr[class*="ced-"]').first();
    await mark.waitFor({ timeout: PATIENCE_MS });
    await story.picture('tools-marks');
  });

  story.step('the statistics of all its tools are over the module of the world', async () => {
    const { workbench } = story.code;
    await workbench.openFile('library.world.yaml');
    // The model also called unknown tools.
    const calls = figures.tools.reduce((sum, row) => sum + (row.byClass.unknown_tool === undefined ? row.calls : 0), 0);
    await workbench
      .codeLens(new RegExp(`^\\d+ tools · ${calls.toLocaleString('en')} calls`))
      .waitFor({ timeout: PATIENCE_MS });
  });

  story.step('a hover shows the last calls', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('loans.ts');
    await page.locator('.view-line').getByText(TOOL).first().hover();
    const hover = page.locator('.monaco-hover').filter({ hasText: 'Show calls' });
    await hover
      .getByText(/loan_id/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Escape');
  });

  story.step('a click shows real calls in VS Code’s own peek view, each with its arguments and result', async () => {
    const { workbench, page } = story.code;
    await workbench.codeLens(new RegExp(`^${figuresOf(TOOL).calls.toLocaleString('en')} calls?`)).click();
    await peek().waitFor();
    const rows = peek().locator('.ref-tree .monaco-list-row');
    await rows
      .filter({ hasText: /^(passed|failed).*loan_id/ })
      .first()
      .click();
    await peek().locator('.preview .view-line').getByText('arguments').first().waitFor();
    await story.picture('tools-peek');
    await peek().locator('.preview .codelens-decoration a').filter({ hasText: 'Open Step' }).first().click();
    await story.trajectory.selected.filter({ hasText: TOOL }).waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Escape');
  });

  /** An entry of the menu of the trajectory’s page. */
  const fromPage = async (entry: string): Promise<void> => {
    await story.trajectory.button('More').click();
    await story.trajectory.frame.getByRole('menuitem', { name: entry }).click();
  };

  story.step('“Try Tool…” of a tool of a world says what to do instead', async () => {
    const { workbench } = story.code;
    await fromPage('Try Tool…');
    await workbench
      .toast(/belongs to a world and cannot be called alone.*“Re-run This Call” calls it/)
      .waitFor({ timeout: PATIENCE_MS });
    await workbench.clearToasts();
  });

  story.step('the call of a trajectory’s page is made again, with the same result', async () => {
    const { workbench } = story.code;
    await story.trajectory.steps.focus();
    await workbench.command('Rollout: Re-run This Call');
    await workbench.tab(`${TOOL}.json`).waitFor({ timeout: PATIENCE_MS });
    await workbench.codeLens(/^\s*Run$/).click();
    await workbench.codeLens(/^\s*Same as recorded · .*recorded/).waitFor({ timeout: PATIENCE_MS });
    await story.code.page
      .locator('.tab')
      .filter({ hasText: `${TOOL}: recorded ↔ now` })
      .waitFor();
    await story.picture('tools-rerun');
  });

  story.step('other arguments are checked by the tool’s schema, and fail where its code says so', async () => {
    const { workbench, page } = story.code;
    await page
      .locator('.tab')
      .filter({ hasText: `${TOOL}.json` })
      .click();
    await page.keyboard.press('Control+G');
    await workbench.answer(':3');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft'); // into the text of the ID
    await page.keyboard.insertText('x');
    await page.locator('.squiggly-warning').first().waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Control+Enter');
    await workbench.codeLens(/invalid_arguments/).waitFor({ timeout: PATIENCE_MS });
    await story.picture('tools-rerun-failed');
  });

  story.step('a test is saved from the recorded call, and passes', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.openFile('loans.ts');
    await workbench.codeLens(new RegExp(`^${figuresOf(TOOL).calls.toLocaleString('en')} calls?`)).click();
    await peek()
      .locator('.ref-tree .monaco-list-row')
      .filter({ hasText: /^(passed|failed).*loan_id/ })
      .first()
      .click();
    await peek().locator('.preview .codelens-decoration a').filter({ hasText: 'Save as Test Case' }).first().click();
    await workbench.tab(`${TOOL}.test.ts`).waitFor({ timeout: PATIENCE_MS });
    const file = path.join(folder, 'tests', `${TOOL}.test.ts`);
    assert.ok(existsSync(file));
    assert.match(readFileSync(file, 'utf8'), /from '\.\.\/worlds\/library\.ts'/);
    await story.picture('tools-test');
    const told = await cli<{ passed: boolean; output: string }>('test', file);
    assert.ok(told.passed, told.output);
    await workbench.toastButton(/Saved/, 'Run Test');
    await workbench.toast(/passes/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('“Try Tool…” begins with the arguments of the recorded call, and returns results for others', async () => {
    const { workbench, page } = story.code;
    for (const [name, text] of Object.entries(SHELVES)) writeFileSync(path.join(folder, name), text);
    await cli('run', 'batches/shelves.batch.yaml');
    await workbench.command('View: Close All Editors');
    await workbench.openFile('shelves.ts');
    await workbench.codeLens(/^1 call/).click({ timeout: PATIENCE_MS });
    await peek().locator('.preview .codelens-decoration a').filter({ hasText: 'Open Step' }).first().click();
    await story.trajectory.selected.filter({ hasText: 'find_shelf' }).waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press('Escape');
    await fromPage('Try Tool…');
    await workbench.tab('Try find_shelf').waitFor({ timeout: PATIENCE_MS });
    const panel = workbench.webview();
    const [book, floor] = [
      panel.getByRole('textbox', { name: /^book_id/ }),
      panel.getByRole('textbox', { name: /^floor/ }),
    ];
    await book.waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual([await book.inputValue(), await floor.inputValue()], ['B-201', '2']);
    await panel.getByRole('button', { name: 'Run', exact: true }).click();
    await panel.getByText('2-201').first().waitFor({ timeout: PATIENCE_MS });
    await book.fill('B-305');
    await page.keyboard.press('Control+Enter');
    await panel.getByText('2-305').first().waitFor({ timeout: PATIENCE_MS });
    await panel.getByRole('region', { name: 'Printed' }).getByText('looking for B-305').waitFor();
    assert.equal(await panel.getByRole('region', { name: 'Runs' }).getByRole('listitem').count(), 2);
    await story.picture('tools-try');
    // Messages are in the console, too.
    assert.deepEqual(
      story.code.consoleErrors().filter((text) => !text.includes('belongs to a world')),
      [],
    );
  });
});
