/**
 * Stores the tokens of URL targets in the editor's secret storage and provides them as environment variables, like the
 * CLI expects. Does not depend on VS Code.
 */
import { LOCAL } from '../../../client/targets/local.ts';
import type { Target } from '../../../client/targets/target.ts';
import { Emitter } from '../../../common/emitter.ts';
import type { Vault } from '../../launch/values/storedValues.ts';
import type { KeptTokens } from './keptTokens.ts';

const key = (name: string): string => `target:${name}`;

export class TargetTokens {
  readonly #vault: Vault;
  readonly #target: (name: string) => Promise<Target | undefined>;
  readonly #changed = new Emitter<string>();
  /** Fires with the target's name. */
  readonly changed = this.#changed.event;

  /** @param target Looks up a target by name. */
  constructor(vault: Vault, target: (name: string) => Promise<Target | undefined>) {
    this.#vault = vault;
    this.#target = target;
  }

  async keep(name: string, tokens: KeptTokens): Promise<void> {
    await this.#vault.store(key(name), JSON.stringify(tokens));
    this.#changed.fire(name);
  }

  async forget(name: string): Promise<void> {
    await this.#vault.delete(key(name));
  }

  /** Returns the token variables of the named targets. Ignores other words. */
  async env(names: readonly string[]): Promise<Record<string, string>> {
    const variables: Record<string, string> = {};
    for (const name of new Set(names)) {
      // Words of a command line may not be target names.
      const target = name === LOCAL ? undefined : await this.#target(name);
      if (target === undefined || !('url' in target)) continue;
      const stored = await this.#vault.get(key(name));
      if (stored === undefined) continue;
      const { readTokens } = await import('./keptTokens.ts');
      const tokens = readTokens(stored);
      if (tokens?.url !== target.url) continue;
      variables[target.token_env] = tokens.token;
      if (target.read_token_env !== undefined && tokens.read !== undefined)
        variables[target.read_token_env] = tokens.read;
    }
    return variables;
  }
}
