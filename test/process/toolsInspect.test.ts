// A tool call under a JavaScript debugger: it waits, stops at the function's first line, and leaves nothing behind.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { deferred } from '../../src/common/abort.ts';
import { letGo } from '../../src/debug/childDebugger.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { InspectorClient, sourceOf } from '../support/inspectorClient.ts';
import { type CallRecord, callContext, callTool, FIXTURES, type ToolBench, toolBench } from '../support/tools.ts';

let bench: ToolBench;
let tools: ToolHost;

before(async () => {
  bench = await toolBench({ sandbox: 'on' });
  const module = await bench.module('debugged.ts');
  tools = await openTools(
    [{ kind: 'module', module: { ...module, path: path.join(FIXTURES, 'debugged.ts') } }],
    bench.environment,
  );
});
after(async () => {
  await tools.close();
  await bench.close();
});

interface Stepped {
  readonly context: CallRecord;
  readonly url: Promise<string>;
  readonly closed: Promise<undefined>;
}

function steppedInto(signal?: AbortSignal): Stepped {
  const url = deferred<string>();
  const closed = deferred<undefined>();
  const context = Object.assign(callContext(signal), {
    inspect: { opened: (at: string) => url.resolve(at), closed: () => closed.resolve(undefined) },
  });
  return { context, url: url.promise, closed: closed.promise };
}

describe('a tool call under a debugger', () => {
  it('stops at the first line of its function, in the user’s file, and continues normally', {
    timeout: 60_000,
  }, async () => {
    const stepped = steppedInto();
    const outcome = callTool(tools, 'slow_sum', { a: 1, b: 2 }, stepped.context);
    const url = await stepped.url;
    assert.equal(new URL(url).hostname, '127.0.0.1');
    const others = await callTool(tools, 'quick', { value: 'x' });
    assert.deepEqual(others.response, { value: 'x' }, 'no other call waits with it');
    const client = await InspectorClient.attach(url);
    const at = await client.paused();
    assert.equal(await sourceOf(at), `${path.join(FIXTURES, 'debugged.ts')}:10`);
    await client.post('Debugger.stepOver');
    assert.equal(await sourceOf(await client.paused()), `${path.join(FIXTURES, 'debugged.ts')}:11`);
    await client.post('Debugger.resume');
    assert.deepEqual((await outcome).response, { sum: 3 });
    await client.closed;
    await stepped.closed;
  });

  it('continues when the debugger leaves, and when none attaches', { timeout: 60_000 }, async () => {
    const left = steppedInto();
    const outcome = callTool(tools, 'quick', { value: 'left' }, left.context);
    const client = await InspectorClient.attach(await left.url);
    assert.match(await sourceOf(await client.paused()), /debugged\.ts:20$/);
    client.leave();
    assert.deepEqual((await outcome).response, { value: 'left' });
    await left.closed;

    const alone = steppedInto();
    const other = callTool(tools, 'quick', { value: 'alone' }, alone.context);
    await letGo(await alone.url);
    assert.deepEqual((await other).response, { value: 'alone' });
    await alone.closed;
  });

  it('is ended by its signal, whether it waits for a debugger or is paused in one', { timeout: 60_000 }, async () => {
    const waits = new AbortController();
    const waiting = steppedInto(waits.signal);
    const outcome = callTool(tools, 'quick', { value: 'x' }, waiting.context);
    await waiting.url;
    waits.abort();
    await assert.rejects(outcome);
    await waiting.closed;

    const stands = new AbortController();
    const standing = steppedInto(stands.signal);
    const other = callTool(tools, 'quick', { value: 'x' }, standing.context);
    const client = await InspectorClient.attach(await standing.url);
    await client.paused();
    stands.abort();
    await assert.rejects(other);
    await standing.closed;
    client.leave();
    await client.closed;
  });
});
