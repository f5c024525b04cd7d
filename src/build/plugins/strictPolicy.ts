import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/** zod compiles parsers with `new Function` unless told so before its first schema. */
export const ZOD_WITHOUT_EVAL = '(globalThis.__zod_globalConfig ??= {}).jitless = true;';

interface Change {
  readonly file: RegExp;
  readonly from: string;
  readonly to: string;
}

/** What the page's libraries do that its Content Security Policy forbids, and what they do instead. */
const CHANGES: readonly Change[] = [
  // Its last resort of finding the global object makes text into code.
  {
    file: /[\\/]fast-element[\\/]dist[\\/]esm[\\/]platform\.js$/,
    from: 'return new Function("return this")();',
    to: 'return globalThis;',
  },
  // It tries out a style element to learn what every browser of today can do.
  {
    file: /[\\/]fast-web-utilities[\\/]dist[\\/]dom\.js$/,
    from: 'if (!canUseDOM()) {\n        _canUseFocusVisible = false;',
    to: 'if (globalThis !== undefined) {\n        _canUseFocusVisible = true;',
  },
];

/** Makes libraries keep to the page's policy; fails the build when one of them has changed. */
export function strictPolicy(): Plugin {
  return {
    name: 'strict-policy',
    setup(build) {
      for (const { file, from, to } of CHANGES) {
        build.onLoad({ filter: file }, async ({ path }) => {
          const text = await readFile(path, 'utf8');
          if (!text.includes(from))
            return { errors: [{ text: `${path} is not as src/build/plugins/strictPolicy.ts knows it` }] };
          return { contents: text.replace(from, to), loader: 'js' };
        });
      }
    },
  };
}
