/** Runs something that may find values missing, and asks for them until none is. Knows nothing of VS Code. */
import { StudioError } from '../../../common/errors.ts';
import { missingValues } from '../../server/cliFailure.ts';
import type { StoredValues } from './storedValues.ts';

export interface AskValue {
  /** undefined: the user closed the question. */
  (name: string): Promise<string | undefined>;
}

/**
 * `names`: values that were needed the last time, so that no try is lost. Gives what `run` gave, with the names it
 * needed. A value is kept as soon as it is told; one of this process's own environment is used and not kept.
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
        const own = process.env[name];
        if (own !== undefined && own !== '') {
          env[name] = own;
          continue;
        }
        const value = await ask(name);
        if (value === undefined) throw new StudioError('cancelled', `No value for ${name} was given.`);
        await stored.keep(name, value);
        env[name] = value;
      }
    }
  }
}
