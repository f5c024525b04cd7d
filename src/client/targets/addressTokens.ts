/** Reads the tokens and CA certificates of URL targets, which are stored outside targets.json. */
import { StudioError } from '../../common/errors.ts';
import { readRegular } from '../../tools/regularFile.ts';
import type { UrlTarget } from './target.ts';

/** Returns the environment variables for the tokens of a target whose tokens VS Code stores. */
export function tokenVariables(
  name: string,
): Pick<UrlTarget, 'token_env' | 'read_token_env'> & { read_token_env: string } {
  const variable = `ROLLOUT_TOKEN_${name.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`;
  return { token_env: variable, read_token_env: `${variable}_READ` };
}

export function noToken(name: string, { token_env, kept }: UrlTarget): StudioError {
  return kept === 'vscode'
    ? new StudioError('usage', `VS Code stores the token of target ${name}, and ${token_env} is not set here.`, {
        hint: `For the command line, set ${token_env}. In VS Code, run Rollout: Change Token of Target….`,
      })
    : new StudioError('usage', `The token of target ${name} is missing: ${token_env} is not set.`, {
        hint: `Set ${token_env} in the environment, or store it in VS Code with Rollout: Change Token of Target….`,
      });
}

export function noReadToken(name: string, { url, token_env, kept }: UrlTarget): StudioError {
  return new StudioError('usage', `Target ${name} has no read-only token.`, {
    hint:
      kept === 'vscode'
        ? 'Add one in VS Code with Rollout: Change Token of Target….'
        : `Add its variable with rollout target add ${name} --url ${url} --token-env ${token_env} ` +
          '--read-token-env NAME.',
  });
}

/** Returns the hint for a token that the server rejects. */
export function newToken(name: string, { token_env, kept }: UrlTarget): string {
  return kept === 'vscode'
    ? 'Enter the current token in VS Code with Rollout: Change Token of Target….'
    : `Set ${token_env} to the current token of the server of ${name}.`;
}

/** Reads the CA certificates of a target, if any. Throws StudioError `config` if the file contains none. */
export async function certificatesOf({ ca }: { readonly ca?: string | undefined }): Promise<string | undefined> {
  if (ca === undefined) return undefined;
  const bytes = await readRegular(ca).catch((cause: unknown) => {
    throw new StudioError('config', `Cannot read the CA file ${ca}.`, {
      hint: 'Add the target again with another CA file.',
      cause,
    });
  });
  const text = bytes.toString('utf8');
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new StudioError('config', `${ca} contains no certificate.`, {
    hint: 'Use a PEM file, which contains “BEGIN CERTIFICATE”.',
  });
}
