/** Simulated worlds in VS Code: what the model is told. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;
const THEMES = { dark: 'Dark Modern', light: 'Light Modern', hc: 'Dark High Contrast' } as const;

describe('simulated worlds in VS Code', { timeout: 480_000 }, () => {
  const folder = sampleFolder();
  const story = new Story('simulated', folder, { viewport: { width: 1440, height: 900 } });
  const item = (name: RegExp): ReturnType<typeof story.code.workbench.treeItem> => story.code.workbench.treeItem(name);
  /** Opens an item with its arrow. */
  const expand = (name: RegExp): Promise<void> => item(name).locator('.monaco-tl-twistie').click();
  /** Takes pictures in each theme, and of a small window. */
  const pictures = async (name: string): Promise<void> => {
    if (process.env['ROLLOUT_PICTURES'] === undefined) return;
    const { page, workbench } = story.code;
    for (const [theme, title] of Object.entries(THEMES)) {
      await workbench.command('Preferences: Color Theme');
      await workbench.answer(title);
      await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      await story.picture(`${name}-${theme}`);
    }
    const size = page.viewportSize();
    await page.setViewportSize({ width: 640, height: 600 });
    await story.picture(`${name}-640`);
    if (size !== null) await page.setViewportSize(size);
  };

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
    await pictures('simulated-prompt');
  });

  story.step('tools are counted again when their file is saved, and the agent’s view has the same world', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    writeFileSync(
      path.join(folder, 'worlds', 'library-sim.world.yaml'),
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
});
