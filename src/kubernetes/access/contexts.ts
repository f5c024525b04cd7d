/** Finds kubeconfig files, lists their contexts, and loads one of them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { StudioError } from '../../common/errors.ts';
import { detachPlugin, pluginExtensions, withAbsoluteCommand } from './execPlugin.ts';
import { kubeconfigFiles, noKubeconfig } from './kubeconfigFiles.ts';

/** How users refer to a cluster. */
export interface ClusterRef {
  /** A kubeconfig file; defaults to those of `KUBECONFIG`, then to `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** A context in the file; defaults to the current one. */
  readonly context?: string | undefined;
  /** Defaults to the context's own, then to `default`. */
  readonly namespace?: string | undefined;
}

interface KubeContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string | undefined;
  readonly namespace: string | undefined;
  /** Whether it is the default. */
  readonly current: boolean;
}

/** Returns the contexts of the kubeconfig; throws if there is no kubeconfig or it cannot be read. */
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

/** Loads the kubeconfig, with the requested context as its current one. */
export async function loadContext(ref: ClusterRef): Promise<KubeConfig> {
  const config = await loadKubeconfig(ref.kubeconfig);
  const contexts = config.getContexts().map((context) => context.name);
  const available = contexts.length === 0 ? 'It has no contexts.' : `Its contexts: ${contexts.join(', ')}.`;
  const name = ref.context ?? currentOf(config);
  if (name === undefined || name === '') {
    throw new StudioError('config', 'The kubeconfig has no current context.', {
      hint: `Name one with --context. ${available}`,
      details: { contexts },
    });
  }
  const context = config.getContextObject(name);
  if (context === null) {
    throw new StudioError('config', `The kubeconfig has no context named ${name}.`, {
      hint: available,
      details: { contexts },
    });
  }
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) {
    throw new StudioError(
      'config',
      `The context ${name} names the cluster ${context.cluster}, which the kubeconfig does not have.`,
      { hint: 'Fix the kubeconfig, or name another context with --context.' },
    );
  }
  config.setCurrentContext(name);
  detachPlugin(config);
  return config;
}

/** Loads the account of the pod that this program runs in. */
export async function loadInCluster(): Promise<KubeConfig> {
  if (process.env['KUBERNETES_SERVICE_HOST'] === undefined) {
    throw new StudioError(
      'usage',
      'This program does not run in a pod of a cluster: KUBERNETES_SERVICE_HOST is not set.',
      { hint: 'Outside a cluster, name a target with a kubeconfig context.' },
    );
  }
  const { KubeConfig } = await import('./library.ts');
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

/** Merges all kubeconfig files; of two entries with the same name, the first one counts, as in kubectl. */
async function loadKubeconfig(kubeconfig: string | undefined): Promise<KubeConfig> {
  const { KubeConfig } = await import('./library.ts');
  const all = new KubeConfig();
  const files = kubeconfigFiles(kubeconfig);
  let found = 0;
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new StudioError('config', `Cannot read the kubeconfig ${file}: ${(error as Error).message}`, {
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
      // No cause: it would contain the whole text, with the credentials in it.
      throw new StudioError(
        'config',
        `Cannot parse the kubeconfig ${file}: ${(error as Error).message.split('\n')[0] ?? ''}`,
        { hint: 'Check whether `kubectl config view` can read it.' },
      );
    }
    const extensions = pluginExtensions(text);
    all.clusters.push(
      ...one.clusters
        .filter((cluster) => all.getCluster(cluster.name) === null)
        .map(withPlainHttp)
        .map((cluster) => {
          const extension = extensions.get(cluster.name);
          return extension === undefined ? cluster : { ...cluster, extension };
        }),
    );
    const folder = path.dirname(path.resolve(file));
    const users = one.users.filter((user) => all.getUser(user.name) === null);
    all.users.push(...users.map((user) => withAbsoluteCommand(user, folder)));
    all.contexts.push(...one.contexts.filter((context) => all.getContextObject(context.name) === null));
    const current = currentOf(one);
    if (currentOf(all) === undefined && current !== undefined) all.setCurrentContext(current);
  }
  if (found === 0) {
    throw noKubeconfig(files);
  }
  return all;
}

/** Returns the current context; the library's types hide that there may be none. */
function currentOf(config: KubeConfig): string | undefined {
  return config.getCurrentContext();
}

/** Lets the library accept `http:` addresses (`kubectl proxy`, tests), which it refuses unless TLS is skipped. */
function withPlainHttp<C extends { readonly server: string; readonly skipTLSVerify: boolean }>(cluster: C): C {
  return cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster;
}
