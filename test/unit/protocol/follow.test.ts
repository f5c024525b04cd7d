import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { follow, type OpenSocket } from '../../../src/protocol/follow.ts';

/** A server that sends these frames and then closes the connection. */
function sending(frames: readonly string[], opened: () => void = () => undefined): OpenSocket {
  return (events) => {
    opened();
    queueMicrotask(() => {
      events.open();
      for (const frame of frames) events.message(frame);
      events.close();
    });
    return { send: () => undefined, close: () => undefined };
  };
}

const never = new AbortController().signal;

test('an unreadable message ends the subscription with an error', async () => {
  for (const frame of ['{', '{"type":"from the future"}']) {
    await assert.rejects(
      follow(sending([frame]), { stream: 'b1' }, {}, never),
      (error) => StudioError.is(error, 'version') && error.message.startsWith('The server sent a message'),
    );
  }
});

test('an error that a handler throws ends the subscription', async () => {
  const head = JSON.stringify({ type: 'head', sub: 's', cursor: 4 });
  const broken = new TypeError('no such row');
  await assert.rejects(
    follow(
      sending([head]),
      { stream: 'b1' },
      {
        head: () => {
          throw broken;
        },
      },
      never,
    ),
    broken,
  );
});

test('an unknown error of the reconnection ends the subscription; an outage is waited out', async () => {
  let connections = 0;
  const stop = new AbortController();
  const errors = [new StudioError('unavailable', 'The server does not respond.'), new RangeError('bad port')];
  await assert.rejects(
    follow(
      sending([], () => {
        connections += 1;
      }),
      { stream: 'b1', reconnect: () => Promise.reject(errors.shift() ?? new Error('reconnected too often')) },
      {},
      stop.signal,
    ),
    RangeError,
  );
  assert.equal(connections, 2);
});
