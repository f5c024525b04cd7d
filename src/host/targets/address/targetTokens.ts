/**
 * Tokens of targets that are addresses, in the editor's secret storage. Whoever connects takes them as environment
 * variables, as the command line does. Knows nothing of VS Code.
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
  /** Told with the target's name. */
  readonly changed = this.#changed.event;

  /** `target`: as it is known on this machine. */
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

  /** The variables that those of the names take their tokens from; other words name nothing. */
  async env(names: readonly string[]): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const name of new Set(names)) {
      // A word of a command line may be anything.
      const target = name === LOCAL ? undefined : await this.#target(name);
      if (target === undefined || !('url' in target)) continue;
      const stored = await this.#vault.get(key(name));
      if (stored === undefined) continue;
      const { readTokens } = await import('./keptTokens.ts');
      const tokens = readTokens(stored);
      if (tokens?.url !== target.url) continue;
      found[target.token_env] = tokens.token;
      if (target.read_token_env !== undefined && tokens.read !== undefined) found[target.read_token_env] = tokens.read;
    }
    return found;
  }
}
