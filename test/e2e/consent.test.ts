/** Opening a trusted folder starts and sends nothing: VS Code asks once for each endpoint and command of its files. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;

describe('the consent to query what files name', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  const agent = path.join(folder, 'agents', 'desk.agent.yaml');
  const sample = readFileSync(agent, 'utf8');
  const started = path.join(folder, 'started');
  const requests: string[] = [];
  const endpoint = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: [{ id: 'tiny', object: 'model' }] }));
  });
  before(async () => {
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    endpoint.close();
    endpoint.closeAllConnections();
  });
  const story = new Story('consent', folder);

  /** Writes an agent whose model and MCP server are outside of the files. `mark`: an argument of the command. */
  function writeAgent(mark: string): void {
    const { port } = endpoint.address() as AddressInfo; // a TCP server has a numeric port
    const code = `require('fs').writeFileSync(process.argv[1], ''); process.argv[2]`;
    const mcp = { command: process.execPath, args: ['-e', code, started, mark] };
    const entry = { mcp, name: 'extra', tools: ['look'] };
    writeFileSync(
      agent,
      `${sample
        .replace(/endpoint: .*/, `endpoint: http://127.0.0.1:${port}/v1`)
        .replace(/name: demo .*/, 'name: huge')}tools:\n  - ${JSON.stringify(entry)}\n`,
    );
  }

  story.step('the sample asks nothing: its model is part of the product', async () => {
    const { workbench } = story.code;
    await workbench.openFile('agents/desk.agent.yaml');
    await workbench.codeLens(/Launch|tokens|calls/).waitFor({ timeout: PATIENCE_MS });
    await workbench.command('Rollout: Review Endpoints and MCP Servers…');
    await workbench.toast('name no endpoints and no MCP servers').waitFor();
    assert.equal(await workbench.toast(/^Allow Rollout|^Start|^Send requests/).isVisible(), false);
    await workbench.clearToasts();
    await workbench.command('View: Close All Editors');
  });

  story.step('files that name others are asked about once, and nothing runs before', async () => {
    const { workbench } = story.code;
    writeAgent('one');
    await workbench.openFile('agents/desk.agent.yaml');
    await workbench.toast(/Allow Rollout to start 1 MCP server and send requests to 1 address/).waitFor({
      timeout: PATIENCE_MS,
    });
    await story.picture('consent');
    assert.deepEqual([existsSync(started), requests], [false, []]);
    await workbench.toastButton(/Allow Rollout/, 'Allow');
    await workbench.squiggle('warning').waitFor({ timeout: PATIENCE_MS }); // the endpoint does not serve the model
    assert.ok(requests.length > 0 && existsSync(started));
  });

  story.step('the decision is kept for the same content, and a changed command is asked about again', async () => {
    const { workbench } = story.code;
    await story.code.reload('desk.agent.yaml');
    await workbench.squiggle('warning').waitFor({ timeout: PATIENCE_MS });
    await workbench.command('View: Close All Editors');
    rmSync(started, { force: true });
    writeAgent('two');
    await workbench.openFile('agents/desk.agent.yaml');
    await workbench.toast(/Start “.* two” to list its tools\?/).waitFor({ timeout: PATIENCE_MS });
    assert.equal(existsSync(started), false);
    await workbench.toastButton(/Start/, 'Don’t Allow');
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
