import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/** zod compiles parsers with `new Function` unless this is set before its first schema. */
export const ZOD_WITHOUT_EVAL = '(globalThis.__zod_globalConfig ??= {}).jitless = true;';

interface Change {
  readonly file: RegExp;
  readonly from: string;
  readonly to: string;
}

/** Code of the page's libraries that its Content Security Policy forbids, and its replacements. */
const CHANGES: readonly Change[] = [
  // Its last fallback to find the global object compiles text.
  {
    file: /[\\/]fast-element[\\/]dist[\\/]esm[\\/]platform\.js$/,
    from: 'return new Function("return this")();',
    to: 'return globalThis;',
  },
  // It inserts a style element to test a feature of every current browser.
  {
    file: /[\\/]fast-web-utilities[\\/]dist[\\/]dom\.js$/,
    from: 'if (!canUseDOM()) {\n        _canUseFocusVisible = false;',
    to: 'if (globalThis !== undefined) {\n        _canUseFocusVisible = true;',
  },
];

/** Makes libraries comply with the page's policy. Fails the build if one of them has changed. */
export function strictPolicy(): Plugin {
  return {
    name: 'strict-policy',
    setup(build) {
      for (const { file, from, to } of CHANGES) {
        build.onLoad({ filter: file }, async ({ path }) => {
          const text = await readFile(path, 'utf8');
          if (!text.includes(from))
            return { errors: [{ text: `${path} has changed; update src/build/plugins/strictPolicy.ts` }] };
          return { contents: text.replace(from, to), loader: 'js' };
        });
      }
    },
  };
}
