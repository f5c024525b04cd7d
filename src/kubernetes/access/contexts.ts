/** Kubeconfig files: which there are, what contexts they have, and one of them loaded. Credentials stay in them. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { KubeConfig } from './kubeconfig.ts';

/** A cluster as people name it. */
export interface ClusterRef {
  /** A kubeconfig file; else those of `KUBECONFIG`, else `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** A context of it; else its current one. */
  readonly context?: string | undefined;
  /** Else the context's own, else `default`. */
  readonly namespace?: string | undefined;
}

export interface KubeContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string | undefined;
  readonly namespace: string | undefined;
  /** The one that is used where none is named. */
  readonly current: boolean;
}

/** The contexts of the kubeconfig; throws where there is none to be read. */
export async function kubeContexts(kubeconfig?: string): Promise<KubeContext[]> {
  const config = await loadKubeconfig(kubeconfig);
  return config.getContexts().map(({ name, cluster, user, namespace }) => ({
    name,
    cluster,
    user: user === '' ? undefined : user,
    namespace,
    current: name === config.getCurrentContext(),
  }));
}

/** The kubeconfig with the wanted context as its current one. */
export async function loadContext(ref: ClusterRef): Promise<KubeConfig> {
  const config = await loadKubeconfig(ref.kubeconfig);
  const known = config.getContexts().map((context) => context.name);
  const there = known.length === 0 ? 'It has none.' : `There are: ${known.join(', ')}.`;
  const wanted = ref.context ?? currentOf(config);
  if (wanted === undefined || wanted === '') {
    throw new StudioError('config', 'The kubeconfig has no current context, and none was named.', {
      hint: `Name one with --context. ${there}`,
      details: { contexts: known },
    });
  }
  const context = config.getContextObject(wanted);
  if (context === null) {
    throw new StudioError('config', `The kubeconfig has no context named ${wanted}.`, {
      hint: there,
      details: { contexts: known },
    });
  }
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) {
    throw new StudioError(
      'config',
      `The context ${wanted} names the cluster ${context.cluster}, which the kubeconfig does not have.`,
      { hint: 'Fix the kubeconfig, or name another context with --context.' },
    );
  }
  config.setCurrentContext(wanted);
  return config;
}

/** The account of the pod this program runs in. */
export async function loadInCluster(): Promise<KubeConfig> {
  if (process.env['KUBERNETES_SERVICE_HOST'] === undefined) {
    throw new StudioError(
      'usage',
      'This program does not run in a pod of a cluster: KUBERNETES_SERVICE_HOST is not set.',
      { hint: 'Outside of a cluster name a target with a kubeconfig context.' },
    );
  }
  const { KubeConfig } = await import('./kubeconfig.ts');
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

/** All kubeconfig files in one; of two entries with one name the first counts, as kubectl does it. */
async function loadKubeconfig(kubeconfig: string | undefined): Promise<KubeConfig> {
  const { KubeConfig } = await import('./kubeconfig.ts');
  const all = new KubeConfig();
  const files = kubeconfigFiles(kubeconfig);
  let found = 0;
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new StudioError('config', `The kubeconfig ${file} cannot be read: ${(error as Error).message}`, {
        cause: error,
      });
    });
    if (text === undefined) continue;
    found++;
    const one = new KubeConfig();
    try {
      one.loadFromString(text);
      one.makePathsAbsolute(path.dirname(path.resolve(file)));
    } catch (error) {
      // No cause: it would carry the whole text along, with the credentials in it.
      throw new StudioError(
        'config',
        `The kubeconfig ${file} cannot be understood: ${(error as Error).message.split('\n')[0] ?? ''}`,
        { hint: 'See whether `kubectl config view` can read it.' },
      );
    }
    all.clusters.push(...one.clusters.filter((cluster) => all.getCluster(cluster.name) === null).map(withPlainHttp));
    all.users.push(...one.users.filter((user) => all.getUser(user.name) === null));
    all.contexts.push(...one.contexts.filter((context) => all.getContextObject(context.name) === null));
    const current = currentOf(one);
    if (currentOf(all) === undefined && current !== undefined) all.setCurrentContext(current);
  }
  if (found === 0) {
    throw new StudioError(
      'config',
      `There is no kubeconfig: ${files.join(', ')} ${files.length === 1 ? 'does' : 'do'} not exist.`,
      {
        hint:
          'Get one from your cluster (most providers have a command for it), or name it with --kubeconfig or ' +
          'KUBECONFIG.',
      },
    );
  }
  return all;
}

/** The library's types hide that a kubeconfig may have none. */
function currentOf(config: KubeConfig): string | undefined {
  return config.getCurrentContext();
}

/** The files that hold the kubeconfig, whether or not they are there. */
export function kubeconfigFiles(kubeconfig?: string): string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  const named = (process.env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  return named.length > 0 ? named : [path.join(homedir(), '.kube', 'config')];
}

/** The library refuses `http:` addresses (`kubectl proxy`, tests) unless told that TLS is not to be looked at. */
function withPlainHttp<C extends { readonly server: string; readonly skipTLSVerify: boolean }>(cluster: C): C {
  return cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster;
}
