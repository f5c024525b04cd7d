import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { trajectoryText } from '../../../src/trace/text.ts';
import { readEvent } from '../../../src/trace/upgrades.ts';
import { type Kit, kit, ScriptedModel, ScriptedTools, type ToolScript } from '../../support/rolloutKit.ts';

/** A tool that fails this often before it answers. */
function flaky(
  failures: number,
  script: Partial<ToolScript> = {},
  error = (): Error => new Error('the line is busy'),
): ScriptedTools {
  let calls = 0;
  return new ScriptedTools({
    dial: {
      retry: { times: 3, waitMs: 2 },
      ...script,
      run: () => {
        calls += 1;
        if (calls <= failures) throw error();
        return { calls };
      },
    },
  });
}

const callsTool = (): ScriptedModel =>
  new ScriptedModel([{ calls: [{ id: 'x', name: 'dial', arguments: { to: 7 } }] }, { text: '42' }]);

function endOf(one: Kit) {
  const [found] = one.recorder.of('tool.end');
  assert.ok(found);
  return found.data;
}

describe('a retried tool', () => {
  it('gets the same arguments and seed until it answers; the record says how often', async () => {
    const tools = flaky(2);
    const model = callsTool();
    const one = kit({ model, tools });
    await one.run();
    assert.equal(tools.calls.length, 3);
    assert.equal(new Set(tools.calls.map(({ seed, id, arguments: args }) => JSON.stringify([seed, id, args]))).size, 1);
    const { status, retries, ms } = endOf(one);
    assert.equal(status, 'ok');
    assert.deepEqual(
      retries?.map((retry) => retry.class),
      ['tool_error', 'tool_error'],
    );
    const waited = retries.map((retry) => retry.ms);
    assert.ok((waited[0] ?? 0) >= 1 && (waited[1] ?? 0) >= 3, `the wait doubles: ${waited.join(', ')}`);
    assert.ok((ms ?? 0) >= 5, 'its time is that of all of it');
    assert.deepEqual(model.requests[1]?.messages.at(-1)?.parts, [
      { type: 'tool_call_response', id: 'x', response: { calls: 3 } },
    ]);
    assert.deepEqual(one.recorder.logs, [
      'tool_error: the line is busy\nRetrying in 0.002 s (1 of 3).\n',
      'tool_error: the line is busy\nRetrying in 0.004 s (2 of 3).\n',
    ]);
    const read = new TrajectoryModel();
    read.push(one.stream().map((event) => readEvent(JSON.parse(JSON.stringify(event)))));
    assert.match(trajectoryText(read, { width: 100, color: false }), /retried 2× after tool_error, tool_error/);
  });

  it('fails with the last failure when no retry succeeded', async () => {
    const tools = flaky(9);
    const one = kit({ model: callsTool(), tools });
    await one.run();
    assert.equal(tools.calls.length, 4);
    const { status, error, retries } = endOf(one);
    assert.deepEqual([status, error?.class, retries?.length], ['error', 'tool_error', 3]);
  });

  it('may time out, with the full time for each try', async () => {
    let calls = 0;
    const tools = new ScriptedTools({
      dial: {
        retry: { times: 1, waitMs: 0 },
        timeoutSeconds: 0.05,
        run: (_args, { signal }) => {
          calls += 1;
          return calls > 1
            ? 'there'
            : new Promise<string>((_resolve, reject) =>
                signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
              );
        },
      },
    });
    const one = kit({ model: callsTool(), tools });
    await one.run();
    const { status, retries } = endOf(one);
    assert.deepEqual([status, retries?.map((retry) => retry.class)], ['ok', ['timeout']]);
  });

  it('is not retried for wrong arguments, nor without `retry`', async () => {
    const wrong = flaky(1, {}, () => new ClassedError('invalid_arguments', 'to: no such number'));
    const one = kit({ model: callsTool(), tools: wrong });
    await one.run();
    assert.equal(wrong.calls.length, 1);
    assert.equal(endOf(one).retries, undefined);
    const tools = new ScriptedTools({
      dial: {
        run: () => {
          throw new Error('busy');
        },
      },
    });
    await kit({ model: callsTool(), tools }).run();
    assert.equal(tools.calls.length, 1);
  });

  it('is not waited for when the rollout ends', async () => {
    const tools = flaky(9, { retry: { times: 3, waitMs: 60_000 } });
    const one = kit({ model: callsTool(), tools });
    const running = one.run();
    await one.recorder.when((event) => event.kind === 'log');
    await one.command('cancel');
    await running;
    assert.equal(tools.calls.length, 1);
    assert.equal(endOf(one).error?.class, 'cancelled');
  });

  it('is not called by a rollout that continues after it: the record answers', async () => {
    const one = kit({ model: callsTool(), tools: flaky(2) });
    const events = await one.run();
    const until = events.findIndex((event) => event.kind === 'tool.end') + 1;
    const tools = flaky(2);
    const again = kit({
      model: callsTool(),
      tools,
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, until), blobs: one.recorder.blobs },
    });
    await again.run();
    assert.equal(tools.calls.length, 0);
  });
});
