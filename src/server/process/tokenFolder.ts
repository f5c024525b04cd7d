/** Client tokens that somebody else made: a folder with a file for each, as a Secret becomes one in a pod. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { ClientTokens } from '../access/tokens.ts';

/** Shorter ones can be guessed. */
const SHORTEST = 32;

/** Throws StudioError `config`. */
export async function tokensIn(folder: string): Promise<ClientTokens> {
  const [full, read] = await Promise.all([token(folder, 'full'), token(folder, 'read')]);
  if (full === read)
    throw new StudioError('config', `The two tokens in ${folder} are the same: whoever may read could do everything.`, {
      hint: 'Put different ones into the files full and read.',
    });
  return { full, read };
}

async function token(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StudioError('config', `The client token ${file} cannot be read.`, {
      hint: 'A folder given with --tokens has the files full and read.',
      cause,
    });
  });
  const found = text.trim();
  if (!/^[\w.~+/=-]+$/.test(found) || found.length < SHORTEST)
    throw new StudioError(
      'config',
      `The client token ${file} must have at least ${SHORTEST} characters, and none but letters, digits and . _ ` +
        '~ + / = -.',
    );
  return found;
}
