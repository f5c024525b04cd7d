import type { Memory } from '../../src/host/launch/memory.ts';

/** Remembers values as JSON, as VS Code does. */
export class TestMemory implements Memory {
  readonly #values = new Map<string, unknown>();
  get(key: string): unknown {
    return this.#values.get(key);
  }
  update(key: string, value: unknown): Promise<void> {
    this.#values.set(key, JSON.parse(JSON.stringify(value)));
    return Promise.resolve();
  }
}
