import type { Plugin } from 'esbuild';

/**
 * The Kubernetes library sends its requests through src/kubernetes/access/connection.ts, so its own HTTP client is not
 * bundled: a second undici, 0.7 MB. Calling code that needs it throws an error.
 */
const LEFT_OUT = ['Agent', 'ProxyAgent', 'fetch'];

export function kubernetesClient(): Plugin {
  return {
    name: 'kubernetes-client',
    setup(build) {
      build.onResolve({ filter: /^undici$/ }, ({ path, importer }) =>
        /[\\/]@kubernetes[\\/]client-node[\\/]dist[\\/]/.test(importer) ? { path, namespace: 'left-out' } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({
        contents: LEFT_OUT.map(
          (name) => `export function ${name}() { throw new Error('${name} is not in this bundle'); }`,
        ).join('\n'),
        loader: 'js',
      }));
    },
  };
}
