/** Finds the environment variables of sidecars whose values are secrets of the batch. */
import { envNamesIn } from '../../config/env.ts';
import type { SubmittedPods } from '../../config/submission.ts';

/**
 * Returns the variable that an entry of a container's `env` refers to: `{ name, value: '${env:X}' }` refers to X. The
 * batch file is validated to have no references elsewhere.
 */
export function variableOf(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null || !('value' in entry) || typeof entry.value !== 'string')
    return undefined;
  const [name] = envNamesIn(entry.value);
  return name !== undefined && entry.value === `\${env:${name}}` ? name : undefined;
}

/** Returns all variables that sidecars use. */
export function sidecarVariables(pods: SubmittedPods): string[] {
  const entries = (pods.sidecars ?? []).flatMap(({ env }): unknown[] => (Array.isArray(env) ? env : []));
  return [...new Set(entries.flatMap((entry) => variableOf(entry) ?? []))];
}

/** Returns the key of a variable in the batch's Secret. */
export function environmentKey(variable: string): string {
  return `env.${variable}`;
}
