import type { Plugin } from 'esbuild';

/**
 * Of the Kubernetes library only the reading of kubeconfigs is used (src/kubernetes/access/kubeconfig.ts). Its
 * generated client of the whole API and the HTTP library of that, 60 MB of source, are named by the same file and stay
 * out; calling what needs them is an error.
 */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  './gen/index.js': ['ServerConfiguration', 'createConfiguration'],
  undici: ['Agent', 'ProxyAgent'],
};

export function kubeconfigOnly(): Plugin {
  return {
    name: 'kubeconfig-only',
    setup(build) {
      build.onResolve({ filter: /^(undici|\.\/gen\/index\.js)$/ }, ({ path, importer }) =>
        /[\\/]@kubernetes[\\/]client-node[\\/]dist[\\/]config\.js$/.test(importer)
          ? { path, namespace: 'left-out' }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
        contents: (LEFT_OUT[path] ?? [])
          .map((name) => `export function ${name}() { throw new Error('${name} is not in this bundle'); }`)
          .join('\n'),
        loader: 'js',
      }));
    },
  };
}
