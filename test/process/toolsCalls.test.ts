// How calls of modules travel: on a connection between the worker and the thread, or through the main thread of their
// process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { SandboxMode } from '../../src/config/schema/sandboxSection.ts';
import { openModule } from '../../src/tools/modules/moduleHost.ts';
import { type CallLink, CallServer } from '../../src/tools/modules/process/callServer.ts';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';

const support = await sandboxSupport();
const modes: readonly SandboxMode[] = support.works ? ['off', 'required'] : ['off'];

for (const sandbox of modes) {
  describe(`calls of modules (sandbox: ${sandbox})`, { timeout: 60_000 }, () => {
    let bench: ToolBench;
    beforeEach(async () => {
      bench = await toolBench({ sandbox });
    });
    afterEach(() => bench.close());
    const bundles = (): string => path.resolve(bench.cwd, '../../bundles/tools');

    it('reach their thread directly', async () => {
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      assert.equal((await callTool(tools, 'connected')).response, true);
      await tools.close();
    });

    it('pass through the process of a thread that cannot connect', {
      skip: process.platform === 'win32' ? 'pipes have no files' : false,
    }, async () => {
      const first = await openModule(await bench.module('deadly.ts'), bench.environment);
      for (const name of await readdir(bundles())) if (name.endsWith('.calls')) await rm(path.join(bundles(), name));
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      assert.equal((await callTool(tools, 'connected')).response, false);
      await tools.close();
      await first.close();
    });

    it('print before they end, and return long texts', async () => {
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      for (let round = 0; round < 20; round++) {
        const context = callContext();
        await callTool(tools, 'prints', {}, context);
        const printed = context.logs.join('').replaceAll('out: ', '').trim().split(/\s+/);
        assert.deepEqual(
          printed,
          Array.from({ length: 500 }, (_, line) => String(line)),
        );
      }
      assert.equal((await callTool(tools, 'long')).response, 'ä€😀'.repeat(100_000));
      assert.deepEqual(bench.late, []);
      await tools.close();
    });

    it('have what they printed after their end before the next answer', async () => {
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      for (let round = 0; round < 50; round++) {
        const [first, next] = [callContext(), callContext()];
        await callTool(tools, 'prints_later', { text: `round ${round}` }, first);
        await callTool(tools, 'turns', {}, next);
        const logs = [...first.logs, ...next.logs, ...bench.late.splice(0)];
        const printed = logs.map((log) => log.replace(/^out: /, ''));
        assert.deepEqual(printed, [`round ${round}\n`]);
      }
      await tools.close();
    });

    it('keep their answer when their thread exits right after it', async () => {
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      for (let round = 0; round < 10; round++) assert.equal((await callTool(tools, 'leaves')).response, 'answered');
      await tools.close();
    });

    it('leave nothing behind', async () => {
      const tools = await openModule(await bench.module('routes.ts'), bench.environment);
      await callTool(tools, 'connected');
      await tools.close();
      await bench.environment.pools.modules.close();
      assert.deepEqual(
        (await readdir(bundles())).filter((name) => name.endsWith('.calls')),
        [],
      );
    });
  });
}

describe('the connection of a thread', { timeout: 30_000 }, () => {
  let folder = '';
  let server: CallServer;
  let link: CallLink;
  const received: unknown[] = [];
  const failures: string[] = [];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'calls-'));
    server = new CallServer();
    server.listen(folder);
    received.length = 0;
    failures.length = 0;
    link = server.expect({ message: (message) => received.push(message), failed: (why) => failures.push(why) });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });

  function opened(first: string): Socket {
    const { at } = link.address;
    const socket = connect(process.platform === 'win32' ? at : path.join(folder, at));
    socket.on('error', () => undefined);
    socket.write(first);
    sockets.push(socket);
    return socket;
  }
  const closed = (socket: Socket): Promise<void> =>
    new Promise((resolve) => socket.resume().once('close', () => resolve()));
  async function refused(first: string): Promise<void> {
    await closed(opened(first));
  }

  it('needs its token, once', async () => {
    assert.equal(link.post({ type: 'abort', id: 1 }), false);
    await refused('0'.repeat(link.address.token.length));
    await refused(`${link.address.token}{"type":"done"}\n`);
    const socket = opened(link.address.token);
    await once(socket, 'data');
    await refused(link.address.token);
    assert.equal(link.post({ type: 'abort', id: 1 }), true);
    assert.deepEqual(JSON.parse(String((await once(socket, 'data'))[0])), { type: 'abort', id: 1 });
    assert.deepEqual([received, failures], [[], []]);
  });

  it('drops what does not show a token in time, and too many strangers', async (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = opened('a').resume();
    while (!waiting.closed) {
      test.mock.timers.tick(5_000);
      await turn();
    }
    const more = Array.from({ length: 20 }, () => closed(opened('')));
    await Promise.any(more);
  });

  it('delivers all answers before it is drained', async () => {
    const socket = opened(link.address.token);
    await once(socket, 'data');
    const answers = Array.from({ length: 1000 }, (_, id) => ({ type: 'done', id, text: 'ä'.repeat(100) }));
    socket.end(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
    await link.drained();
    assert.deepEqual(received, answers);
    assert.deepEqual(failures, []);
  });

  it('ends with its thread if it gets what is no message, or without limits', async (test) => {
    for (const text of ['no JSON\n', 'x'.repeat(1024 * 1024)]) {
      const own = server.expect({ message: (message) => received.push(message), failed: (why) => failures.push(why) });
      const socket = opened(own.address.token);
      await once(socket, 'data');
      test.mock.timers.enable({ apis: ['setTimeout'] });
      socket.write(text);
      socket.resume();
      await own.closed;
      test.mock.timers.tick(2_000);
      test.mock.timers.reset();
    }
    assert.deepEqual(
      failures,
      Array.from({ length: 2 }, () => 'it closed its connection to the worker'),
    );
  });
});
