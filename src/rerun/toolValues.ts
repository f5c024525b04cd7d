import { StudioError } from '../common/errors.ts';
import { type Redactor, redactor } from '../common/redaction/redactor.ts';
import { envNamesIn, resolveEnv } from '../config/env.ts';
import { mapWorlds, worldsIn } from '../config/submission/nested.ts';
import { realToolsIn, type SubmittedTools, type SubmittedWorld } from '../config/submission.ts';

export type Values = Readonly<Record<string, string | undefined>>;

/** Returns what hides the values that `withValues` fills in: results and output are shown and copied. */
export function hidingValues(tools: readonly SubmittedTools[], env: Values): Redactor {
  return redactor(envNamesIn(JSON.stringify(tools)).map((name) => env[name] ?? ''));
}

/** Returns the result of a function, or throws its error, without secrets. */
export async function withoutSecrets<T>(secrets: Redactor, run: () => Promise<T>): Promise<T> {
  try {
    return secrets.json(await run());
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    const { code, message, hint, details, cause } = error;
    throw new StudioError(code, secrets.text(message), {
      cause,
      ...(hint === undefined ? {} : { hint: secrets.text(hint) }),
      ...(details === undefined ? {} : { details: secrets.json(details) }),
    });
  }
}

/** Returns what hides the values that `withWorldValues` fills in. */
export function hidingWorldValues(world: SubmittedWorld | undefined, env: Values): Redactor {
  return hidingValues(worldsIn(world).flatMap(realToolsIn), env);
}

/** Replaces `${env:…}` in the real tools of a world and of all that it contains. Throws as `withValues`. */
export function withWorldValues(world: SubmittedWorld, env: Values): SubmittedWorld {
  return mapWorlds(world, (each) =>
    each.kind === 'simulated' && each.real_tools !== undefined
      ? { ...each, real_tools: withValues(each.real_tools, env) }
      : each,
  );
}

/** Replaces `${env:…}` in entries. Throws `config` with `details.missing` if variables are not set. */
export function withValues(tools: readonly SubmittedTools[], env: Values): SubmittedTools[] {
  const missing = [...new Set(envNamesIn(JSON.stringify(tools)))].filter((name) => (env[name] ?? '') === '');
  if (missing.length > 0) {
    throw new StudioError('config', `The tools use environment variables that are not set: ${missing.join(', ')}.`, {
      hint: 'Set them and try again.',
      details: { missing },
    });
  }
  const values = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return tools.map((entry) => resolveEnv(entry, values));
}
