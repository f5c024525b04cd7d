// What the code of users' modules (tools, worlds, scorers) sees and reaches: they run in processes of their own, in the
// sandbox.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import type { Json } from '../../src/common/json.ts';
import { DEFAULT_SANDBOX, type SubmittedModule, type SubmittedSandbox } from '../../src/config/submission.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import type { ToolEnvironment } from '../../src/tools/environment.ts';
import { runExport } from '../../src/tools/modules/exports.ts';
import { openModule } from '../../src/tools/modules/moduleHost.ts';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { openWorld } from '../../src/worlds/open.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { InspectorClient } from '../support/inspectorClient.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';

const support = await sandboxSupport();
const never = new AbortController().signal;

describe('modules in a sandbox', { skip: support.works ? false : support.reason, timeout: 480_000 }, () => {
  let project = '';
  let bench: ToolBench;
  let module: SubmittedModule;
  let tools: ToolHost;

  before(async () => {
    project = await mkdtemp(path.join(os.tmpdir(), 'modules-'));
    await mkdir(path.join(project, 'manuals'));
    await writeFile(path.join(project, 'answers.jsonl'), 'the answer');
    await writeFile(path.join(project, 'manuals', 'desk.md'), 'the manual');
    process.env['MODULE_SECRET'] = 'a secret of the worker';
    bench = await toolBench({ sandbox: 'required' });
    module = await bench.module('look.ts');
    tools = await openModule(module, environment());
  });
  after(async () => {
    await tools.close();
    await bench.close();
    await rm(project, { recursive: true });
    delete process.env['MODULE_SECRET'];
  });

  function environment(sandbox: Partial<SubmittedSandbox> = {}): ToolEnvironment {
    return {
      ...bench.environment,
      sandbox: { ...DEFAULT_SANDBOX, mode: 'required', read: [path.join(project, 'manuals')], ...sandbox },
    };
  }
  const where = async (host = tools): Promise<string> => z.string().parse((await callTool(host, 'where', {})).response);
  const read = async (file: string, host = tools): Promise<Json> => (await callTool(host, 'read', { file })).response;

  it('read what their batch names, and nothing else of the user', async () => {
    assert.equal(await read(path.join(project, 'manuals', 'desk.md')), 'the manual');
    assert.equal(await read(path.join(project, 'answers.jsonl')), 'ENOENT');
    const hidden = await openModule(
      module,
      environment({ read: [project], hide: [path.join(project, 'answers.jsonl')] }),
    );
    assert.equal(await read(path.join(project, 'answers.jsonl'), hidden), '');
    await hidden.close();
  });

  it('work in the rollout’s working directory, with temporary files of their own', async () => {
    assert.equal((await callTool(tools, 'write', { file: path.join(bench.cwd, 'note'), text: 'kept' })).response, 'ok');
    assert.equal(existsSync(path.join(bench.cwd, 'note')), true);
    const file = path.join('/tmp', `module-${process.pid}`);
    assert.equal((await callTool(tools, 'write', { file, text: 'x' })).response, 'ok');
    assert.equal(existsSync(file), false);
    assert.equal((await callTool(tools, 'write', { file: '/usr/lib/module', text: 'x' })).response, 'EROFS');
  });

  it('see neither the worker, nor its environment, nor other processes', async () => {
    assert.equal(await read(`/proc/${process.pid}/environ`), 'ENOENT');
    assert.doesNotMatch(z.string().parse(await read('/proc/self/environ')), /MODULE_SECRET|a secret of the worker/);
    const { response } = await callTool(tools, 'processes', {});
    assert.ok(Array.isArray(response) && response.length < 6, JSON.stringify(response));
    assert.equal((await callTool(tools, 'kill', { pid: process.pid })).response, 'ESRCH');
    assert.ok(alive(process.pid));
  });

  it('do not reach sockets of others', async () => {
    const at = path.join(project, 'socket');
    const server = createServer().listen(at);
    assert.equal((await callTool(tools, 'connect', { to: at })).response, 'ENOENT');
    server.close();
  });

  it('do not see the scorers, which score elsewhere', async () => {
    const scored = await runExport(module, 'score', [{ answer: 'x', expected: 'the answer' }], environment(), never);
    const scorer = z.object({ where: z.string() }).parse(scored);
    assert.match(scorer.where, /^pid:/);
    assert.notEqual(scorer.where, await where());
    const bundles = path.resolve(bench.cwd, '../../bundles');
    assert.ok((await readdir(path.join(bundles, 'scorers'))).includes(`${module.bundle}.mjs`));
    for (const folder of ['scorers', 'sandboxes', 'servers'])
      assert.equal((await callTool(tools, 'list', { folder: path.join(bundles, folder) })).response, 'ENOENT');
    const file = path.join(bundles, 'tools', `${module.bundle}.mjs`);
    assert.equal((await callTool(tools, 'write', { file, text: 'x' })).response, 'EROFS');
  });

  it('open worlds there, too', async () => {
    const world = openWorld(
      { name: 'look', file: 'look.world.yaml', kind: 'module', module, perturb: [] },
      environment(),
    );
    const session = await world.open({ task: { id: 't', question: 'q', meta: {} }, seed: 1 }, never);
    assert.equal((await callTool(session, 'peek', { file: path.join(project, 'answers.jsonl') })).response, 'ENOENT');
    await session.close();
  });

  it('stop in a debugger, even without the network', async () => {
    const offline = await openModule(module, environment({ network: false }));
    const url = Promise.withResolvers<string>();
    const context = Object.assign(callContext(), { inspect: { opened: url.resolve, closed: () => undefined } });
    const outcome = callTool(offline, 'where', {}, context);
    const client = await InspectorClient.attach(await url.promise);
    await client.paused();
    await client.post('Debugger.resume');
    assert.match(z.string().parse((await outcome).response), /^pid:/);
    await offline.close();
  });

  it('have a process for each rollout if the batch says so, which ends with it', async () => {
    const others = await mkdtemp(path.join(path.dirname(bench.cwd), 'work-'));
    const mine = environment({ modules: 'separate' });
    const [one, two] = await Promise.all([mine, { ...mine, cwd: others }].map((each) => openModule(module, each)));
    assert.ok(one !== undefined && two !== undefined);
    await writeFile(path.join(others, 'theirs'), 'x');
    assert.equal(await read(path.join(others, 'theirs'), two), 'x');
    assert.equal(await read(path.join(others, 'theirs'), one), 'ENOENT');
    assert.notEqual(await where(one), await where(two));
    const before = new Set(bench.groups);
    await two.close();
    await bench.environment.pools.endRollout(others);
    const ended = [...before].filter((group) => !bench.groups.has(group));
    assert.ok(ended.length > 0);
    for (const group of ended) assert.ok(await hasEnded(-group, 10_000));
    assert.match(await where(one), /^pid:/);
    await one.close();
    await bench.environment.pools.endRollout(bench.cwd);
  });

  it('lose only their own calls when their process is killed', async () => {
    await assert.rejects(callTool(tools, 'kill', { pid: 0 }), /The (thread of this call|tool's thread) ended/);
    assert.match(await where(), /^pid:/);
  });
});
