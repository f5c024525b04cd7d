// Debuggers that are lost, on two servers with the same store.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../../../src/common/abort.ts';
import type { DebuggerClaim } from '../../../../src/protocol/client.ts';
import { Debuggers } from '../../../../src/server/clients/debuggers.ts';
import type { Services } from '../../../../src/server/services.ts';

const STREAM = { batch: 'b1', rollout: 'r1' };
const CLAIM: DebuggerClaim = { by: 'rollout dap', breakpoints: 'debug:', end: 'cancel' };
const GRACE_MS = 5;

/** The part of a store that both servers use, and what they stop. */
function shared() {
  const at = new Map<string, string>();
  const [stopped, asked]: [string[], string[]] = [[], []];
  let changed = deferred<undefined>();
  const news = (): void => {
    changed.resolve(undefined);
    changed = deferred<undefined>();
  };
  const serverOf = (name: string): Debuggers =>
    new Debuggers(
      {
        log: (text: string) => assert.doesNotMatch(text, /failed/),
        supervisor: {
          stop: () => {
            stopped.push(name);
            news();
            return Promise.resolve();
          },
        },
        store: {
          batch: () => Promise.resolve({ row: { state: 'running' } }),
          setDebugger: (key: string, server: string) => {
            at.set(key, server);
            return Promise.resolve();
          },
          debuggerLeft: (key: string, server: string) => {
            if (at.get(key) === server) at.delete(key);
            asked.push(name);
            news();
            return Promise.resolve(!at.has(key));
          },
        },
      } as unknown as Services,
      name,
      GRACE_MS,
    );
  /** Waits until `list` has this many entries. */
  const until = async (list: readonly string[], count: number): Promise<void> => {
    while (list.length < count) await changed.promise;
  };
  return { first: serverOf('s1'), second: serverOf('s2'), stopped, asked, until };
}

describe('a debugger that a server lost', () => {
  it('ends what it launched, unless it reconnects to this or to another server', async () => {
    const { first, second, stopped, asked, until } = shared();
    first.connect(STREAM, CLAIM).lose();
    const again = first.connect(STREAM, CLAIM);
    const there = second.connect(STREAM, CLAIM);
    again.lose();
    await until(asked, 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([asked, stopped], [['s1'], []], 'it is connected to the second server');
    there.lose();
    await until(stopped, 1);
    assert.deepEqual([asked, stopped], [['s1', 's2'], ['s2']]);
  });

  it('is forgotten when it ends', async () => {
    const { first, second, stopped, asked, until } = shared();
    const connection = first.connect(STREAM, CLAIM);
    connection.end();
    connection.lose();
    await until(asked, 1);
    second.connect(STREAM, CLAIM).lose();
    await until(stopped, 1);
    assert.deepEqual([asked, stopped], [['s1', 's2'], ['s2']]);
  });
});
