/**
 * Saves a URL target: its public settings in `targets.json`, and its tokens in the editor's secret storage.
 */
import { certificatesOf, tokenVariables } from '../../../client/targets/addressTokens.ts';
import { TargetFile } from '../../../client/targets/targetFile.ts';
import { StudioError } from '../../../common/errors.ts';
import { runSteps } from '../../window/questions/steps.ts';
import { type AddressDraft, askToken } from './askAddress.ts';
import type { TargetTokens } from './targetTokens.ts';

export async function addAddress(
  tokens: TargetTokens,
  { name, url, ca, token }: AddressDraft & { readonly name: string },
): Promise<void> {
  // Store the token first, because writing the file announces the target.
  await tokens.store(name, { url, token });
  new TargetFile().add(name, { url, ...tokenVariables(name), ...(ca === undefined ? {} : { ca }), kept: 'vscode' });
}

/** Returns false if the user cancels. */
export async function changeToken(tokens: TargetTokens, name: string): Promise<boolean> {
  const target = new TargetFile().get(name);
  if (!('url' in target)) throw new StudioError('usage', `Target ${name} is a cluster, which stores its own tokens.`);
  if (!('token_env' in target))
    throw new StudioError('usage', `Target ${name} needs no token: you log in with context ${target.context}.`);
  const ca = await certificatesOf(target);
  const address = { url: target.url, ...(ca === undefined ? {} : { ca }) };
  const title = `Token of ${name}`;
  const tokensByPermission = { write: '', read: '' };
  const permissions = target.read_token_env === undefined ? (['write'] as const) : (['write', 'read'] as const);
  const done = await runSteps(
    permissions.map((permission) => async (step, steps) => {
      const answer = await askToken({ title, step, steps }, address, permission);
      if (typeof answer === 'string') tokensByPermission[permission] = answer;
      return answer;
    }),
  );
  if (done)
    await tokens.store(name, {
      url: target.url,
      token: tokensByPermission.write,
      ...(tokensByPermission.read === '' ? {} : { read: tokensByPermission.read }),
    });
  return done;
}
