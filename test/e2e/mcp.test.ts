/** Our MCP server among those of VS Code: offered by the extension, started by VS Code, with all of its tools. */
import { describe } from 'node:test';
import { toolsFor } from '../../src/mcp/tools.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

describe('the MCP server in VS Code', { timeout: 300_000 }, () => {
  // MCP is a part of chat, which this VS Code disables by default.
  const story = new Story('mcp', sampleFolder(), {
    settings: { 'chat.disableAIFeatures': false, 'chat.mcp.access': 'all' },
  });

  story.step('it is listed, and starts', async () => {
    await story.code.workbench.command('MCP: List Servers');
    await story.code.workbench.pick('Rollout Studio');
    await story.code.workbench.pick('Start Server');
  });

  story.step('VS Code finds its tools', async () => {
    // The output reveals itself; color splits its words into parts.
    const found = new RegExp(`Discovered\\s*${toolsFor({ readOnly: false }).length}\\s*tools`);
    await story.code.page.locator('.output-view .view-lines').filter({ hasText: found }).waitFor({ timeout: 60_000 });
  });
});
