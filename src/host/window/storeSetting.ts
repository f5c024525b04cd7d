/** Which store is meant. */
import os from 'node:os';
import path from 'node:path';
import { isPostgresUrl } from '../../common/postgres.ts';

/**
 * The setting, else the environment, else the one in the user's data. `~` is the home, and a relative folder is one of
 * the workspace.
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
