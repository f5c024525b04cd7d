import { StudioError } from '../common/errors.ts';
import { envNamesIn, resolveEnv } from '../config/env.ts';
import type { SubmittedTools } from '../config/submission.ts';

export type Values = Readonly<Record<string, string | undefined>>;

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
