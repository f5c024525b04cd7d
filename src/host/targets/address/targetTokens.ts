/**
 * Stores the tokens of URL targets in the editor's secret storage and provides them as environment variables, like the
 * CLI expects. Does not depend on VS Code.
 */
import { LOCAL } from '../../../client/targets/local.ts';
import type { Target } from '../../../client/targets/target.ts';
import { Emitter } from '../../../common/emitter.ts';
import type { SecretStore } from '../../launch/values/storedValues.ts';
import type { StoredTokens } from './storedTokens.ts';

const key = (name: string): string => `target:${name}`;

export class TargetTokens {
  readonly #secrets: SecretStore;
  readonly #target: (name: string) => Promise<Target | undefined>;
  readonly #changed = new Emitter<string>();
  /** Fires with the target's name. */
  readonly changed = this.#changed.event;

  /** @param target Looks up a target by name. */
  constructor(secrets: SecretStore, target: (name: string) => Promise<Target | undefined>) {
    this.#secrets = secrets;
    this.#target = target;
  }

  async store(name: string, tokens: StoredTokens): Promise<void> {
    await this.#secrets.store(key(name), JSON.stringify(tokens));
    this.#changed.fire(name);
  }

  async forget(name: string): Promise<void> {
    await this.#secrets.delete(key(name));
  }

  /** Returns the token variables of the named targets. Ignores other words. */
  async env(names: readonly string[]): Promise<Record<string, string>> {
    const variables: Record<string, string> = {};
    for (const name of new Set(names)) {
      // Words of a command line may not be target names.
      const target = name === LOCAL ? undefined : await this.#target(name);
      if (target === undefined || !('token_env' in target)) continue;
      const stored = await this.#secrets.get(key(name));
      if (stored === undefined) continue;
      const { readTokens } = await import('./storedTokens.ts');
      const tokens = readTokens(stored);
      if (tokens?.url !== target.url) continue;
      variables[target.token_env] = tokens.token;
      if (target.read_token_env !== undefined && tokens.read !== undefined)
        variables[target.read_token_env] = tokens.read;
    }
    return variables;
  }
}
