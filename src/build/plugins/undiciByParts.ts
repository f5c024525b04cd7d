import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'esbuild';

/** Like in undici's own index.js: functions that send through the dispatcher of their options. */
const MAKE_DISPATCHER = /^function makeDispatcher \(fn\) \{$[\s\S]*?^\}$/m;

/** Tells the client from the whole package. */
const CLIENT = '?client';

/**
 * undici's entry loads everything that it has: fetch, WebSocket, caches, and mocks, which take a tenth of the time in
 * which a worker starts. `import { … } from 'undici'` gets its client only; anything else is an error of the build.
 * `await import('undici')` gets all of it.
 */
export function undiciByParts(): Plugin {
  return {
    name: 'undici-by-parts',
    setup(build) {
      build.onResolve({ filter: /^undici$/ }, async ({ kind, path: name, resolveDir, importer, pluginData }) => {
        if (kind !== 'import-statement' || pluginData === undiciByParts) return undefined;
        const whole = await build.resolve(name, { kind, resolveDir, importer, pluginData: undiciByParts });
        return whole.errors.length > 0 ? whole : { path: whole.path, suffix: CLIENT };
      });
      build.onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, async ({ path: index, suffix }) => {
        if (suffix !== CLIENT) return undefined;
        const [makeDispatcher] = MAKE_DISPATCHER.exec(await readFile(index, 'utf8')) ?? [];
        if (makeDispatcher === undefined)
          return { errors: [{ text: `${index} has no function makeDispatcher: see undiciByParts.ts` }] };
        return {
          contents: `
            import api from './lib/api/index.js';
            import errors from './lib/core/errors.js';
            import util from './lib/core/util.js';
            import Agent from './lib/dispatcher/agent.js';
            import Dispatcher from './lib/dispatcher/dispatcher.js';
            import ProxyAgent from './lib/dispatcher/proxy-agent.js';
            import { getGlobalDispatcher } from './lib/global.js';
            const { InvalidArgumentError } = errors;
            ${makeDispatcher}
            Object.assign(Dispatcher.prototype, api);
            export const request = makeDispatcher(api.request);
            export { Agent, Dispatcher, ProxyAgent };
          `,
          loader: 'js',
          resolveDir: path.dirname(index),
        };
      });
    },
  };
}
