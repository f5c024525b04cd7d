/** How long the lanes of a batch wait for the groups that a trainer requests at once. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Gathering } from '../../../../src/server/workers/gathering.ts';

/** Returns a batch whose lanes wait, what passes the time, and when its lanes were told that it is over. */
function begun(context: TestContext) {
  let now = 1_000;
  const over: number[] = [];
  context.mock.timers.enable({ apis: ['setTimeout'] });
  context.mock.method(performance, 'now', () => now);
  const gathering = new Gathering(() => over.push(now - 1_000));
  const pass = (ms: number): void => {
    for (let n = 0; n < ms; n++) {
      now += 1;
      context.mock.timers.tick(1);
    }
  };
  return { gathering, pass, over };
}

describe('lanes', () => {
  it('wait until no group was requested for 20 ms', (context) => {
    const { gathering, pass, over } = begun(context);
    assert.equal(gathering.wait('b1'), false, 'nothing was requested');
    gathering.requested('b1');
    assert.equal(gathering.wait('b1'), true);
    assert.equal(gathering.wait('b2'), false, 'another batch');
    pass(15);
    gathering.requested('b1');
    pass(19);
    assert.equal(gathering.isWaiting('b1'), true);
    assert.deepEqual(over, []);
    pass(100);
    assert.deepEqual(over, [35]);
    assert.equal(gathering.wait('b1'), false);
    assert.equal(gathering.isWaiting('b1'), false);
  });

  it('wait at most 100 ms for a trainer that requests one group after another', (context) => {
    const { gathering, pass, over } = begun(context);
    for (let n = 0; n < 30; n++) {
      gathering.requested('b1');
      if (n === 0) gathering.wait('b1');
      pass(10);
    }
    assert.equal(over[0], 100);
  });

  it('are not told about a batch that has ended, or after a close', (context) => {
    const { gathering, pass, over } = begun(context);
    for (const batch of ['b1', 'b2']) {
      gathering.requested(batch);
      gathering.wait(batch);
    }
    gathering.forget('b1');
    gathering.close();
    pass(200);
    assert.deepEqual(over, []);
  });
});
