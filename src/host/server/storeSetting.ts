/** Resolves the store. */
import os from 'node:os';
import path from 'node:path';
import { isPostgresUrl } from '../../common/postgres.ts';

/**
 * Returns the store in the setting, the environment, or the user's data folder. Expands `~`, and resolves relative
 * folders against the workspace.
 */
export function resolveStore(
  setting: string,
  environment: string | undefined,
  workspace: string | undefined,
  fallback: string,
): string {
  const value = [setting, environment].map((text) => text?.trim() ?? '').find((text) => text !== '');
  if (value === undefined) return fallback;
  if (isPostgresUrl(value)) return value;
  const folder = value === '~' || /^~[\\/]/.test(value) ? path.join(os.homedir(), value.slice(1)) : value;
  return path.resolve(workspace ?? os.homedir(), folder);
}
