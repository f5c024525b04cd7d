/** Simulated worlds in VS Code: what the model is told, and how many calls fit in its context. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { Bench } from '../support/cli.ts';
import { type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { until } from '../support/until.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;

describe('simulated worlds in VS Code', { timeout: 480_000 }, () => {
  const folder = sampleFolder();
  const story = new Story('simulated', folder, { viewport: { width: 1440, height: 900 } });
  const item = (name: RegExp): ReturnType<typeof story.code.workbench.treeItem> => story.code.workbench.treeItem(name);
  const file = path.join(folder, 'worlds', 'library-sim.world.yaml');
  /** The endpoint of the world's model. */
  let endpoint: FakeEndpoint | undefined;
  before(async () => {
    endpoint = await fakeEndpoint(({ path: url }, response) => {
      const answer =
        url === '/tokenize'
          ? { count: 2_000, max_model_len: 16_096 }
          : { data: [{ id: 'player', max_model_len: 16_096 }] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  after(() => endpoint?.[Symbol.asyncDispose]());
  /** Opens an item with its arrow. */
  const expand = (name: RegExp): Promise<void> => item(name).locator('.monaco-tl-twistie').click();

  story.step('the Worlds view shows domain, number of tools, and the parts of the prompt', async () => {
    const { workbench, page } = story.code;
    await workbench.command('Rollout: Focus on Worlds View');
    await item(/^World library-sim, simulated · mcp · 9 tools/).waitFor({ timeout: PATIENCE_MS });
    await item(/^World library-overlay, simulated · mcp · 9 tools/).waitFor();
    await expand(/^World library-sim, simulated · mcp/);
    await expand(/^Prompt of the domain mcp, 3 parts/);
    for (let row = 0; row < 3; row++) await page.keyboard.press('ArrowDown'); // scrolls to the last part
    await item(/^Initial State, simulation\/state\.md/).click();
    await workbench.tab('state.md').waitFor({ timeout: PATIENCE_MS });
  });

  story.step('a click on a part that the domain has shows it in the whole prompt, read-only', async () => {
    const { workbench, page } = story.code;
    await item(/^Actions, of the domain mcp/).click();
    await workbench.tab('library-sim · borrow-one.md').waitFor({ timeout: PATIENCE_MS });
    await page
      .locator('.view-line')
      .filter({ hasText: /^#.Actions/ })
      .waitFor();
    assert.ok((await workbench.cursorLine()) > 3, 'at the heading');
    await page.keyboard.type('x');
    await page.getByText('Cannot edit in read-only editor').first().waitFor();
    await page.keyboard.press('Escape');
    await story.pictures('simulated-prompt');
  });

  story.step('tools are counted again when their file is saved, and the Agents view has the same world', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    writeFileSync(
      file,
      `version: 1\nname: library-sim\nkind: simulated\nmodel: { endpoint: 'demo:', name: demo }\n` +
        'tools: [{ file: simulation/tools.json }, { recorded: last/borrow-one/1 }]\nstate: simulation/state.md\n',
    );
    await item(/^World library-sim, simulated · mcp · 9\+ tools/).waitFor({ timeout: PATIENCE_MS });
    await workbench.command('Rollout: Focus on Agents and Tools View');
    await item(/^World library-sim, simulated, mcp, 9\+ tools/).waitFor({ timeout: PATIENCE_MS });
    await expand(/^World library-sim, simulated, mcp/);
    await story.code.page
      .getByRole('tree', { name: 'Agents and Tools' })
      .getByRole('treeitem', { name: /^Prompt of the domain mcp/ })
      .waitFor();
    await story.picture('simulated-agents');
  });

  story.step('a world file says what is known of the context, and asks the endpoint only on a click', async () => {
    const { workbench } = story.code;
    writeFileSync(
      file,
      `version: 1\nname: library-sim\nkind: simulated\nmodel: { endpoint: '${endpoint?.url ?? ''}', name: player }\n` +
        'tools: [{ file: simulation/tools.json }]\nstate: simulation/state.md\n',
    );
    await workbench.openFile('library-sim.world.yaml');
    const lens = workbench.codeLens(/System prompt about [\d,]+ tokens, 600 per call/);
    await lens.waitFor({ timeout: PATIENCE_MS });
    await workbench.codeLens('Preview Prompt').waitFor();
    assert.ok(!endpoint?.seen.some(({ path: url }) => url === '/tokenize'), 'nobody was asked to count');
    await lens.click();
    await workbench.codeLens(/About 16 calls fit, but the agent may make 20 steps/).waitFor({
      timeout: PATIENCE_MS,
    });
    await workbench.toast(/about 16 calls fit/).waitFor();
    await workbench.clearToasts();
    await story.pictures('simulated-lens');
  });

  story.step('the launch form says it next to the tasks, and asks again on a click', async () => {
    const { workbench, page } = story.code;
    await workbench.openFile('simulated.batch.yaml');
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick('simulated');
    const row = page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'Context of library-sim' });
    await row.filter({ hasText: 'About 16 calls fit' }).waitFor({ timeout: PATIENCE_MS });
    await row.filter({ hasText: 'Shorten its state' }).waitFor();
    await story.picture('simulated-launch');
    const before = endpoint?.seen.length ?? 0;
    await row.click();
    await workbench.inputTitle.filter({ hasText: 'Launch Batch' }).waitFor({ timeout: PATIENCE_MS });
    await row.filter({ hasText: 'About 16 calls fit' }).waitFor({ timeout: PATIENCE_MS });
    await until('the endpoint was asked', () => (endpoint?.seen.length ?? 0) > before);
    await page.keyboard.press('Escape');
  });

  story.step(
    'demonstrations are picked from a recorded attempt, changed, written to the file, and undone',
    async () => {
      const { workbench, page } = story.code;
      const bench = new Bench({ store: story.code.server.store });
      const ran = ['run', 'batches/first.batch.yaml', '--attempts', '1', '--task', 'renew-one'];
      await bench.json(ran, { cwd: folder });
      rmSync(bench.folder, { recursive: true, force: true }); // the window owns the store and its server
      await workbench.openFile('library-sim.world.yaml');
      await workbench.command('Rollout: Pick Demonstrations…');
      await workbench.pick(/first/);
      await workbench.pick(/renew-one/);
      const title = workbench.inputTitle.filter({
        hasText: /Pick Demonstrations: \d+ calls?, about [\d,]+ of 4,000 tokens/,
      });
      await title.waitFor({ timeout: PATIENCE_MS });
      const all = await title.innerText();
      // A click before that is lost.
      await page
        .locator('.quick-input-widget')
        .getByText(/[1-9]\d* Selected/)
        .waitFor();
      await story.picture('simulated-demonstrations');
      await workbench.pick(/find_member/);
      await page.waitForFunction((text) => document.querySelector('.quick-input-title')?.textContent !== text, all);
      await page.keyboard.press('Enter');
      const line = page.locator('.view-line').filter({ hasText: /^demonstrations:.*recorded:.*calls:/ });
      await line.waitFor({ timeout: PATIENCE_MS });
      await page.keyboard.press('ControlOrMeta+Z');
      await line.waitFor({ state: 'hidden' });
    },
  );
});
