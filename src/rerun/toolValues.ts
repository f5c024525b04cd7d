import { StudioError } from '../common/errors.ts';
import { envNamesIn, resolveEnv } from '../config/env.ts';
import type { SubmittedTools } from '../config/submission.ts';

export type Values = Readonly<Record<string, string | undefined>>;

/** Entries with `${env:…}` put in. Throws `config` with `details.missing` when the environment lacks some. */
export function withValues(tools: readonly SubmittedTools[], env: Values): SubmittedTools[] {
  const missing = [...new Set(envNamesIn(JSON.stringify(tools)))].filter((name) => (env[name] ?? '') === '');
  if (missing.length > 0) {
    throw new StudioError(
      'config',
      `The tools use ${missing.map((name) => `\${env:${name}}`).join(', ')}, which is not set in the environment.`,
      {
        hint: 'Set it and try again.',
        details: { missing },
      },
    );
  }
  const values = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return tools.map((entry) => resolveEnv(entry, values));
}
