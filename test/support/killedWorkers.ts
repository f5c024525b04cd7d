/** Kills the workers of a batch at seeded moments, counted by the requests that its endpoint receives. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.ts';
import type { TestServer, TestStore } from './rolloutServer.ts';
import { TestWorker } from './workerProcess.ts';

interface Kills {
  readonly count: number;
  /** They happen among the first requests, up to this one. */
  readonly requests: number;
  /** Called when a worker is dead, and after the last one has ended. */
  readonly after?: () => Promise<void>;
}

export class KilledWorkers {
  readonly #random: Random;
  #received = 0;
  #killAt = Infinity;
  #reached = Promise.withResolvers<undefined>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** To be called for each request that counts. */
  received(): void {
    if (++this.#received >= this.#killAt) this.#reached.resolve(undefined);
  }

  /** Runs the batch with workers that are killed one after another; the last one ends it. */
  async run(store: TestStore, server: TestServer, batch: string, { count, requests, after }: Kills): Promise<void> {
    for (const moment of this.#random.moments(count, 2, requests).map(Math.round)) {
      this.#killAt = Math.max(this.#received + 1, moment);
      this.#reached = Promise.withResolvers<undefined>();
      await using worker = await TestWorker.start(store, server, batch);
      await Promise.race([this.#reached.promise, worker.exited]);
      await sleep(this.#random.next() * 30); // anywhere in a call
      await worker.kill();
      await after?.();
    }
    this.#killAt = Infinity;
    await using last = await TestWorker.start(store, server, batch);
    assert.equal(await last.exited, 0, last.stderr);
    await after?.();
  }
}
