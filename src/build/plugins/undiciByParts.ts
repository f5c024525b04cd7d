import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'esbuild';

/** Like in undici's own index.js: functions that send through the dispatcher of their options. */
const MAKE_DISPATCHER = /^function makeDispatcher \(fn\) \{$[\s\S]*?^\}$/m;
/** Tell the parts from the whole package. */
const CLIENT = '?client';
const FETCH = '?fetch';

/**
 * undici's entry loads everything that it has: fetch, WebSocket, caches, and mocks, which take a tenth of the time in
 * which a worker starts. `import { … } from 'undici'` gets its client, and `await import('undici')` gets `fetch` with
 * `FormData`. Anything else is an error of the build.
 */
export function undiciByParts(): Plugin {
  return {
    name: 'undici-by-parts',
    setup(build) {
      build.onResolve({ filter: /^undici$/ }, async ({ kind, path: name, resolveDir, importer, pluginData }) => {
        if (pluginData === undiciByParts) return undefined;
        const whole = await build.resolve(name, { kind, resolveDir, importer, pluginData: undiciByParts });
        if (whole.errors.length > 0) return whole;
        return { path: whole.path, suffix: kind === 'dynamic-import' ? FETCH : CLIENT };
      });
      build.onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, async ({ path: index, suffix }) => {
        if (suffix !== CLIENT && suffix !== FETCH) return undefined;
        const contents = suffix === FETCH ? FETCH_PART : clientPart(await readFile(index, 'utf8'));
        return contents === undefined
          ? { errors: [{ text: `${index} has no function makeDispatcher: see undiciByParts.ts` }] }
          : { contents, loader: 'js', resolveDir: path.dirname(index) };
      });
    },
  };
}

const FETCH_PART = `
  import formData from './lib/web/fetch/formdata.js';
  import web from './lib/web/fetch/index.js';
  export const { FormData } = formData;
  export const { fetch } = web;
`;

/** Returns undefined if undici's entry has another form than expected. */
function clientPart(index: string): string | undefined {
  const [makeDispatcher] = MAKE_DISPATCHER.exec(index) ?? [];
  if (makeDispatcher === undefined) return undefined;
  return `
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
  `;
}
