/** Opening a trusted folder starts and sends nothing: VS Code asks once for each endpoint and command of its files. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { readServerFile } from '../../src/client/serverFile.ts';
import { end } from '../support/cli.ts';
import { until } from './support/poll.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 60_000;

describe('the consent to query what files name', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  const agent = path.join(folder, 'agents', 'desk.agent.yaml');
  const sample = readFileSync(agent, 'utf8');
  const started = path.join(folder, 'started');
  const stores = { allowed: path.join(folder, 'shipped store'), denied: path.join(folder, 'other store') };
  const requests: string[] = [];
  const endpoint = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: [{ id: 'tiny', object: 'model' }] }));
  });
  before(async () => {
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    endpoint.close();
    endpoint.closeAllConnections();
    for (const store of Object.values(stores)) {
      const server = readServerFile(store);
      if (server !== undefined) await end(server.pid);
    }
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
    await workbench.command('Rollout: Review Workspace Access…');
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
    // The squiggle needs only the endpoint.
    await until(() => requests.length > 0 && existsSync(started), PATIENCE_MS, 'both to be queried');
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
  });

  story.step('a store and a target of the workspace are used only after they were allowed, once each', async () => {
    const { workbench } = story.code;
    writeSettings({ 'rollout.store': stores.allowed });
    const question = /Use the store “.*shipped store”\? The settings of this workspace name it/;
    await workbench.toast(question).waitFor({ timeout: PATIENCE_MS });
    await workbench.openView('Rollout'); // starts the server
    await until(() => story.code.server.rolloutServer !== undefined, PATIENCE_MS, 'the server of the own store');
    assert.equal(existsSync(stores.allowed), false);
    await workbench.toastButton(question, 'Allow');
    await until(() => readServerFile(stores.allowed) !== undefined, PATIENCE_MS, 'the server of the allowed store');

    // Both decisions survive a reload; other values are asked about again.
    await story.code.reload('desk.agent.yaml');
    writeSettings({ 'rollout.store': stores.denied, 'rollout.target': 'elsewhere' });
    const both = /Use the target “elsewhere” and the store “.*other store”\?/;
    await workbench.toast(both).waitFor({ timeout: PATIENCE_MS });
    await workbench.toastButton(both, 'Don’t Allow');
    await workbench.toast(both).waitFor({ state: 'hidden' });
    assert.equal(existsSync(stores.denied), false);
    await workbench.command('Rollout: Review Workspace Access…');
    await workbench.pick(/^Store “.*other store”/);
    await story.code.page.keyboard.press('Escape');
    assert.equal(existsSync(stores.denied), false);
    const uses = (): number => story.code.server.hostLogs().split(`server of ${stores.allowed} `).length;
    const used = uses();
    writeSettings({ 'rollout.store': stores.allowed });
    await until(() => uses() > used, PATIENCE_MS, 'the allowed store to be used again');
    assert.deepEqual(story.code.consoleErrors(), []);
  });

  function writeSettings(settings: Readonly<Record<string, string>>): void {
    const vscode = path.join(folder, '.vscode');
    mkdirSync(vscode, { recursive: true });
    writeFileSync(path.join(vscode, 'settings.json'), JSON.stringify(settings));
  }
});
