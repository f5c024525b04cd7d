/** Values for `${env:…}` that the environment does not have: asked for once, kept by the editor's secret storage. */
import { Emitter } from '../../../common/emitter.ts';
import type { Memory } from '../memory.ts';

/** The part of `vscode.SecretStorage` that is needed. */
export interface Vault {
  get(key: string): Thenable<string | undefined>;
  store(key: string, value: string): Thenable<void>;
  delete(key: string): Thenable<void>;
}

/** Which names are kept; a vault does not tell. */
const NAMES = 'launch.valueNames';
const key = (name: string): string => `env:${name}`;

export class StoredValues {
  readonly #vault: Vault;
  readonly #names: Memory;
  readonly #changed = new Emitter<undefined>();
  /** Other names are kept than before. */
  readonly changed = this.#changed.event;

  constructor(vault: Vault, names: Memory) {
    this.#vault = vault;
    this.#names = names;
  }

  get names(): readonly string[] {
    const names = this.#names.get(NAMES);
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  }

  /** Those of the names that are kept. */
  async of(names: readonly string[]): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = await this.#vault.get(key(name));
      if (value !== undefined) found[name] = value;
    }
    return found;
  }

  async keep(name: string, value: string): Promise<void> {
    await this.#vault.store(key(name), value);
    await this.#names.update(NAMES, [...new Set([...this.names, name])].sort());
    this.#changed.fire(undefined);
  }

  async forgetAll(): Promise<number> {
    const { names } = this;
    for (const name of names) await this.#vault.delete(key(name));
    await this.#names.update(NAMES, []);
    this.#changed.fire(undefined);
    return names.length;
  }
}
