/** Environment variables of sidecars whose values are secrets of the batch. */
import { envNamesIn } from '../../config/env.ts';
import type { SubmittedPods } from '../../config/submission.ts';

/**
 * The variable that an entry of a container's `env` is: `{ name, value: '${env:X}' }` is X. The batch's file is checked
 * to have none elsewhere.
 */
export function variableOf(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null || !('value' in entry) || typeof entry.value !== 'string')
    return undefined;
  const [name] = envNamesIn(entry.value);
  return name !== undefined && entry.value === `\${env:${name}}` ? name : undefined;
}

/** All of them, each once. */
export function sidecarVariables(pods: SubmittedPods): string[] {
  const entries = (pods.sidecars ?? []).flatMap(({ env }): unknown[] => (Array.isArray(env) ? env : []));
  return [...new Set(entries.flatMap((entry) => variableOf(entry) ?? []))];
}

/** The key of a variable in the batch's Secret. */
export function environmentKey(variable: string): string {
  return `env.${variable}`;
}
