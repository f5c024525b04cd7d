/** Stores values for `${env:…}` variables that are not set, in the editor's secret storage. */
import { Emitter } from '../../../common/emitter.ts';
import type { Memory } from '../memory.ts';

/** The required part of `vscode.SecretStorage`. */
export interface SecretStore {
  get(key: string): Thenable<string | undefined>;
  store(key: string, value: string): Thenable<void>;
  delete(key: string): Thenable<void>;
}

/** Memento key with the stored names, which the secret storage cannot list. */
const NAMES = 'launch.valueNames';
const key = (name: string): string => `env:${name}`;

export class StoredValues {
  readonly #secrets: SecretStore;
  readonly #names: Memory;
  readonly #changed = new Emitter<undefined>();
  /** Fires when the set of stored names changes. */
  readonly changed = this.#changed.event;

  constructor(secrets: SecretStore, names: Memory) {
    this.#secrets = secrets;
    this.#names = names;
  }

  get names(): readonly string[] {
    const names = this.#names.get(NAMES);
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  }

  /** Returns the stored values of the names. */
  async of(names: readonly string[]): Promise<Record<string, string>> {
    const stored: Record<string, string> = {};
    for (const name of names) {
      const value = await this.#secrets.get(key(name));
      if (value !== undefined) stored[name] = value;
    }
    return stored;
  }

  async store(name: string, value: string): Promise<void> {
    await this.#secrets.store(key(name), value);
    await this.#names.update(NAMES, [...new Set([...this.names, name])].sort());
    this.#changed.fire(undefined);
  }

  async deleteAll(): Promise<number> {
    const { names } = this;
    for (const name of names) await this.#secrets.delete(key(name));
    await this.#names.update(NAMES, []);
    this.#changed.fire(undefined);
    return names.length;
  }
}
