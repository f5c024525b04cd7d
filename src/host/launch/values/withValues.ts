/** Runs an operation and asks for missing values until it succeeds. Does not depend on VS Code. */
import { StudioError } from '../../../common/errors.ts';
import { missingValues } from '../../server/cliFailure.ts';
import type { StoredValues } from './storedValues.ts';

export interface AskValue {
  /** Returns undefined if the user cancels. */
  (name: string): Promise<string | undefined>;
}

/**
 * Returns the result of `run` with the names of the values it needed. `names` are those needed last time, to avoid
 * failing runs. Entered values are stored at once; values from this process's environment are not stored.
 */
export async function withValues<T>(
  stored: StoredValues,
  names: readonly string[],
  ask: AskValue,
  run: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<{ readonly result: T; readonly names: readonly string[] }> {
  const env = await stored.of(names);
  for (;;) {
    try {
      return { result: await run(env), names: Object.keys(env).sort() };
    } catch (error) {
      const missing = missingValues(error).filter((name) => env[name] === undefined);
      if (missing.length === 0) throw error;
      Object.assign(env, await stored.of(missing));
      for (const name of missing) {
        if (env[name] !== undefined) continue;
        const fromEnvironment = process.env[name];
        if (fromEnvironment !== undefined && fromEnvironment !== '') {
          env[name] = fromEnvironment;
          continue;
        }
        const value = await ask(name);
        if (value === undefined) throw new StudioError('cancelled', `No value entered for ${name}.`);
        await stored.store(name, value);
        env[name] = value;
      }
    }
  }
}
