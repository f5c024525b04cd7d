// The process that runs the threads of modules: what ends with it, and what ends it. Without a sandbox, so that its
// processes can be seen.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { z } from 'zod';
import { openModule } from '../../src/tools/modules/moduleHost.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { isClass } from '../support/stubServer.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';

const posix = process.platform === 'win32' ? 'needs process groups' : false;

describe('the process of modules', { skip: posix, timeout: 60_000 }, () => {
  let bench: ToolBench;
  beforeEach(async () => {
    bench = await toolBench();
  });
  afterEach(() => bench.close());

  it('takes the processes with it that modules started, when it is killed', async () => {
    const tools = await openModule(await bench.module('leaving.ts'), bench.environment);
    const left = z.number().parse((await callTool(tools, 'leave')).response);
    assert.ok(alive(left));
    await assert.rejects(callTool(tools, 'die'), isClass('tool_error', /it was killed \(SIGKILL\)/));
    assert.ok(await hasEnded(left, 10_000));
    assert.equal(typeof (await callTool(tools, 'leave')).response, 'number');
    await tools.close();
  });

  it('ends when one of its threads does not, and the next call runs in another one', async () => {
    const tools = await openModule(await bench.module('deadly.ts'), bench.environment);
    await callTool(tools, 'slow', { ms: 1 });
    const [first] = bench.groups;
    const log = path.join(bench.cwd, 'log');
    const stop = new AbortController();
    const blocked = callTool(tools, 'blocks', { log }, callContext(stop.signal));
    const child = await startedBy(log);
    stop.abort();
    await assert.rejects(blocked);
    assert.ok(await hasEnded(-(first ?? 0), 15_000));
    assert.ok(await hasEnded(child, 15_000));
    assert.equal((await callTool(tools, 'slow', { ms: 1 })).response, 42);
    await tools.close();
  });
});

/** Returns the process that `blocks` waits for. */
async function startedBy(log: string): Promise<number> {
  for (;;) {
    const text = await readFile(log, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
