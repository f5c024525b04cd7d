/** Resolves the store. */
import os from 'node:os';
import path from 'node:path';
import { isPostgresUrl } from '../../common/postgres.ts';

/**
 * Returns the store in the setting, the environment, or the user's data folder. Expands `~`, and resolves relative
 * folders against the workspace.
 */
export function storeOf(
  set: string,
  environment: string | undefined,
  workspace: string | undefined,
  otherwise: string,
): string {
  const named = [set, environment].map((text) => text?.trim() ?? '').find((text) => text !== '');
  if (named === undefined) return otherwise;
  if (isPostgresUrl(named)) return named;
  const folder = named === '~' || /^~[\\/]/.test(named) ? path.join(os.homedir(), named.slice(1)) : named;
  return path.resolve(workspace ?? os.homedir(), folder);
}
