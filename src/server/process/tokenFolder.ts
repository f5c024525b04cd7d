/** Reads configured client tokens: a folder with a file for each, like a mounted Kubernetes Secret. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { ClientTokens } from '../access/tokens.ts';

/** Shorter tokens could be guessed. */
const MIN_LENGTH = 32;

/** Reads the tokens. Throws StudioError `config`. */
export async function tokensIn(folder: string): Promise<ClientTokens> {
  const [full, read] = await Promise.all([token(folder, 'full'), token(folder, 'read')]);
  if (full === read)
    throw new StudioError(
      'config',
      `The two tokens in ${folder} are the same, so read-only clients would have full access.`,
      {
        hint: 'Put different tokens into the files full and read.',
      },
    );
  return { full, read };
}

async function token(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StudioError('config', `Cannot read the client token ${file}.`, {
      hint: 'The folder in --tokens must have the files full and read.',
      cause,
    });
  });
  const found = text.trim();
  if (!/^[\w.~+/=-]+$/.test(found) || found.length < MIN_LENGTH)
    throw new StudioError(
      'config',
      `The client token ${file} must have at least ${MIN_LENGTH} characters. Only letters, digits, and . _ ` +
        '~ + / = - are allowed.',
    );
  return found;
}
