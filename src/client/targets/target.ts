/** Targets: clusters and servers where rollouts can run. They contain no credentials. */

import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { publicUrl } from '../../common/redaction/hidable.ts';
import type { ClusterRef } from '../../kubernetes/access/contexts.ts';
import { LOCAL } from './local.ts';

const clusterTarget = z.strictObject({
  /** Context of the kubeconfig. */
  context: z.string().min(1),
  /** Defaults to kubectl's kubeconfig. */
  kubeconfig: z.string().min(1).optional(),
  /** Defaults to the namespace of the context. */
  namespace: z.string().min(1).optional(),
});
export type ClusterTarget = z.infer<typeof clusterTarget>;

const urlTarget = z.strictObject({
  /** Without a trailing slash. */
  url: z.url({ protocol: /^https?$/ }),
  /** Environment variable that holds the server's full token. */
  token_env: z.string().min(1),
  /** Environment variable that holds the read-only token. */
  read_token_env: z.string().min(1).optional(),
  /** PEM file with the certificates of a private CA to trust. */
  ca: z.string().min(1).optional(),
  /** Set if VS Code's secret storage holds the tokens and passes them to processes it starts. */
  kept: z.literal('vscode').optional(),
});
export type UrlTarget = z.infer<typeof urlTarget>;

/** A server at a URL to which users log in as users of its cluster. */
const userTarget = z.strictObject({
  url: z.url({ protocol: /^https$/ }),
  /** Context of the kubeconfig whose token logs in. */
  context: z.string().min(1),
  kubeconfig: z.string().min(1).optional(),
  ca: z.string().min(1).optional(),
});
export type UserTarget = z.infer<typeof userTarget>;

export const target = z.union([clusterTarget, urlTarget, userTarget]);
export type Target = z.infer<typeof target>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Throws StudioError `usage` if a target name is invalid. */
export function checkTargetName(name: string): void {
  if (name === LOCAL)
    throw new StudioError('usage', 'The name “local” is reserved for this machine.', { hint: 'Choose another name.' });
  if (!NAME.test(name))
    throw new StudioError('usage', `“${name}” is not a valid target name.`, {
      hint: 'Use up to 63 letters, digits, dots, dashes, and underscores.',
    });
}

/**
 * Normalizes the URL of a server. Throws StudioError `usage` if it is invalid, or if it would send the token
 * unencrypted to another machine.
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
    throw new StudioError('usage', `“${publicUrl(text)}” is not a valid server URL.`, {
      hint: 'Use a URL such as https://rollouts.example.org.',
    });
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw new StudioError('usage', `${text} would send the token unencrypted.`, { hint: 'Use https.' });
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * Throws StudioError `usage` if a file runs on a target but no --target option was used, because this program is
 * already connected to the local machine.
 */
export function checkTarget(file: string, fileTarget: string, targetOption: string | undefined): void {
  if (targetOption !== undefined || fileTarget === LOCAL) return;
  throw new StudioError('usage', `${file} runs on target ${fileTarget}, but this is connected to the local machine.`, {
    hint: `Start it with --target ${fileTarget}, or run the file with rollout run.`,
  });
}

/** Returns the cluster of a target. Throws StudioError `usage` for a URL target. */
export function clusterRef(name: string, of: Target): ClusterRef {
  if ('url' in of)
    throw new StudioError('usage', `Target ${name} is the server ${of.url}, not a cluster.`, {
      hint: 'Add the cluster as a target with rollout target add NAME --context CONTEXT.',
    });
  return of;
}

/** Describes where a target is. */
export function targetPlace(of: Target): string {
  if ('token_env' in of) return of.url;
  if ('url' in of) return `${of.url}, as the user of context ${of.context}`;
  const namespace = of.namespace === undefined ? '' : `, namespace ${of.namespace}`;
  const kubeconfig = of.kubeconfig === undefined ? '' : ` (${of.kubeconfig})`;
  return `context ${of.context}${namespace}${kubeconfig}`;
}
