/** Our MCP server among those of VS Code: offered by the extension, started by VS Code, with all of its tools. */
import { rmSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { toolsFor } from '../../src/mcp/tools.ts';
import { sampleFolder } from './support/sample.ts';
import { Steps } from './support/steps.ts';
import { VsCode } from './support/vscode.ts';

describe('the MCP server in VS Code', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  let code: VsCode;
  const story = new Steps('mcp');
  before(async () => {
    // MCP is a part of chat, which this VS Code leaves out unless told.
    code = await VsCode.start({ workspaceFolder: folder, settings: { 'chat.disableAIFeatures': false, 'chat.mcp.access': 'all' } });
  });
  after(async () => {
    await code.close(story.failed);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  story.step('it is listed, and starts', async () => {
    await code.workbench.command('MCP: List Servers');
    await code.workbench.pick('Rollout Studio');
    await code.workbench.pick('Start Server');
  });

  story.step('VS Code finds its tools', async () => {
    // The output shows itself; its words are split into parts by colour.
    await code.page.locator('.output-view .view-lines').filter({ hasText: new RegExp(`Discovered\\s*${toolsFor({ readOnly: false }).length}\\s*tools`) }).waitFor();
  });
});
