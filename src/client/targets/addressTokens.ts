/** What a target that is an address takes from elsewhere: its tokens, and the certificates it trusts. */
import { readFile } from 'node:fs/promises';
import { StudioError } from '../../common/errors.ts';
import type { UrlTarget } from './target.ts';

/** The variables that hold the tokens of a target that VS Code keeps. */
export function tokenVariables(
  name: string,
): Pick<UrlTarget, 'token_env' | 'read_token_env'> & { read_token_env: string } {
  const variable = `ROLLOUT_TOKEN_${name.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`;
  return { token_env: variable, read_token_env: `${variable}_READ` };
}

export function noToken(name: string, { token_env, kept }: UrlTarget): StudioError {
  return kept === 'vscode'
    ? new StudioError(
        'usage',
        `The token of the target ${name} is kept by VS Code, and ${token_env} is not set here.`,
        { hint: `Set ${token_env} for the command line; in VS Code, Rollout: Change Token of Target… asks for it.` },
      )
    : new StudioError('usage', `The target ${name} takes its token from ${token_env}, which is not set.`, {
        hint: `Set ${token_env} in the environment; in VS Code, Rollout: Change Token of Target… keeps it.`,
      });
}

export function noReadToken(name: string, { url, token_env, kept }: UrlTarget): StudioError {
  return new StudioError('usage', `The target ${name} has no token that may only read.`, {
    hint:
      kept === 'vscode'
        ? 'Rollout: Change Token of Target… in VS Code takes one.'
        : `Name the variable that holds it: rollout target add ${name} --url ${url} --token-env ${token_env} ` +
          '--read-token-env NAME.',
  });
}

/** What to do where the server does not take the token. */
export function newToken(name: string, { token_env, kept }: UrlTarget): string {
  return kept === 'vscode'
    ? 'Give the one it has now: Rollout: Change Token of Target… in VS Code.'
    : `Put the one that the server of ${name} has now into ${token_env}.`;
}

/** undefined: the usual ones. Throws StudioError `config` where the file does not hold certificates. */
export async function certificatesOf({ ca }: Pick<UrlTarget, 'ca'>): Promise<string | undefined> {
  if (ca === undefined) return undefined;
  const text = await readFile(ca, 'utf8').catch((cause: unknown) => {
    throw new StudioError('config', `The certificates of ${ca} cannot be read.`, {
      hint: 'Choose another CA file: add the target again.',
      cause,
    });
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new StudioError('config', `${ca} holds no certificate.`, {
    hint: 'It is a PEM file with “BEGIN CERTIFICATE”, as the authority gives it.',
  });
}
