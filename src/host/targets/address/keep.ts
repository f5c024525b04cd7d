/**
 * Keeps a target that is an address: what everybody may read in `targets.json`, its tokens in the editor's secret
 * storage.
 */
import { certificatesOf, tokenVariables } from '../../../client/targets/addressTokens.ts';
import { TargetFile } from '../../../client/targets/targetFile.ts';
import { StudioError } from '../../../common/errors.ts';
import { walk } from '../../window/questions/steps.ts';
import { type AddressDraft, askToken } from './ask.ts';
import type { TargetTokens } from './targetTokens.ts';

export async function addAddress(
  tokens: TargetTokens,
  { name, url, ca, token }: AddressDraft & { readonly name: string },
): Promise<void> {
  // The token first: the file tells everybody that there is a target now.
  await tokens.keep(name, { url, token });
  new TargetFile().add(name, { url, ...tokenVariables(name), ...(ca === undefined ? {} : { ca }), kept: 'vscode' });
}

/** false: a question was closed. */
export async function changeToken(tokens: TargetTokens, name: string): Promise<boolean> {
  const target = new TargetFile().get(name);
  if (!('url' in target))
    throw new StudioError('usage', `The target ${name} is a cluster: its tokens are in the cluster.`);
  const ca = await certificatesOf(target);
  const address = { url: target.url, ...(ca === undefined ? {} : { ca }) };
  const title = `Token of ${name}`;
  const given = { write: '', read: '' };
  const wanted = target.read_token_env === undefined ? (['write'] as const) : (['write', 'read'] as const);
  const done = await walk(
    wanted.map((may) => async (step, steps) => {
      const answer = await askToken({ title, step, steps }, address, may);
      if (typeof answer === 'string') given[may] = answer;
      return answer;
    }),
  );
  if (done)
    await tokens.keep(name, {
      url: target.url,
      token: given.write,
      ...(given.read === '' ? {} : { read: given.read }),
    });
  return done;
}
