import type { Plugin } from 'esbuild';

/**
 * Loads `node:http` with `require`. An `import` of it in an ES module reads all of its properties, and one of them
 * loads Node's WebSocket and `fetch` (Node 24: 50 to 80 ms of processor time per process, which few processes need).
 */
export function requiredHttp(): Plugin {
  return {
    name: 'required-http',
    setup(build) {
      build.onResolve({ filter: /^(node:)?http$/ }, ({ kind, path }) =>
        kind === 'import-statement' ? { path, namespace: 'required' } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
        contents: `module.exports = require(${JSON.stringify(path)});`,
        loader: 'js',
      }));
    },
  };
}
