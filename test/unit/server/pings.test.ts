import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { Pings } from '../../../src/server/pings.ts';

/** A connection whose other side answers pings, or is gone. */
class Connection extends EventEmitter {
  pings = 0;
  terminated = false;
  readonly #answers: boolean;

  constructor(answers: boolean) {
    super();
    this.#answers = answers;
  }

  ping(): void {
    this.pings += 1;
    if (this.#answers) this.emit('pong');
  }

  terminate(): void {
    this.terminated = true;
    this.emit('close');
  }
}

test('connections get something every 5 s, and end once three pings had no answer', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [alive, gone, closed] = [new Connection(true), new Connection(false), new Connection(true)];
  const pings = new Pings();
  for (const connection of [alive, gone, closed]) pings.add(connection as unknown as WebSocket);
  t.mock.timers.tick(5_000);
  assert.deepEqual([alive.pings, gone.pings, closed.pings], [1, 1, 1]);
  closed.emit('close');
  t.mock.timers.tick(10_000);
  assert.deepEqual([alive.pings, gone.pings, closed.pings], [3, 3, 1]);
  assert.equal(gone.terminated, false);
  t.mock.timers.tick(20_000);
  assert.deepEqual([gone.terminated, gone.pings], [true, 3]);
  assert.deepEqual([alive.terminated, alive.pings], [false, 7]);
  pings.close();
  t.mock.timers.tick(5_000);
  assert.equal(alive.pings, 7);
});
