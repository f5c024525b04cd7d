/** Where rollouts may run besides this machine. A target says how a server is found there; it holds no credentials. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { ClusterRef } from '../../kubernetes/access/contexts.ts';
import { LOCAL } from './local.ts';

const clusterTarget = z.strictObject({
  /** A context of the kubeconfig. */
  context: z.string().min(1),
  /** Without it: where kubectl looks. */
  kubeconfig: z.string().min(1).optional(),
  /** Without it: the one of the context. */
  namespace: z.string().min(1).optional(),
});
export type ClusterTarget = z.infer<typeof clusterTarget>;

const urlTarget = z.strictObject({
  /** Without a slash at the end. */
  url: z.url({ protocol: /^https?$/ }),
  /** The environment variable that holds the server's full token. */
  token_env: z.string().min(1),
  /** The one that holds the token that may only read. */
  read_token_env: z.string().min(1).optional(),
  /** A file of certificates (PEM) to trust, where the server's is of an authority of its own. */
  ca: z.string().min(1).optional(),
  /** Its tokens are in VS Code's secret storage, which gives them to what it starts. */
  kept: z.literal('vscode').optional(),
});
export type UrlTarget = z.infer<typeof urlTarget>;

export const target = z.union([clusterTarget, urlTarget]);
export type Target = z.infer<typeof target>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Throws StudioError `usage` where a target may not be called so. */
export function checkTargetName(name: string): void {
  if (name === LOCAL)
    throw new StudioError('usage', '“local” is this machine.', { hint: 'Give the target another name.' });
  if (!NAME.test(name))
    throw new StudioError('usage', `“${name}” cannot be the name of a target.`, {
      hint: 'Use letters, digits, dots, dashes and underscores.',
    });
}

/**
 * The address of a server as a target keeps it. Throws StudioError `usage`: a token is not sent in the clear to other
 * machines.
 */
export function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== ''
  ) {
    throw new StudioError('usage', `“${text}” is not the address of a server.`, {
      hint: 'Write for example https://rollouts.example.org.',
    });
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw new StudioError('usage', `${text} would send the token in the clear.`, { hint: 'Use https.' });
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * Throws StudioError `usage` where a file runs on a target and nobody said with --target which one is meant: this
 * program is connected already.
 */
export function checkTarget(file: string, wanted: string, said: string | undefined): void {
  if (said !== undefined || wanted === LOCAL) return;
  throw new StudioError('usage', `${file} runs on the target ${wanted}, and this is connected to this machine.`, {
    hint: `Start it with --target ${wanted}, or run it with rollout run.`,
  });
}

/** Which cluster a target is in. Throws StudioError `usage` for one that is only an address. */
export function clusterRef(name: string, of: Target): ClusterRef {
  if ('url' in of)
    throw new StudioError('usage', `The target ${name} is the address ${of.url}, not a cluster.`, {
      hint: 'Add the cluster as a target: rollout target add NAME --context CONTEXT.',
    });
  return of;
}

/** A target in a few words. */
export function targetPlace(of: Target): string {
  if ('url' in of) return of.url;
  return (
    'context ' +
    `${of.context}${of.namespace === undefined ? '' : `, namespace ${of.namespace}`}${of.kubeconfig === undefined ? '' : ` (${of.kubeconfig})`}`
  );
}
