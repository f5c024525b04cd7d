import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * Lets `playwright-core` run from a bundle: it reads its own package.json and its list of browsers from the disk while
 * it loads. Its recorder, trace viewer, reports, and installers are separate files, which are not bundled.
 */
export function browserLibrary(): Plugin {
  return {
    name: 'browser-library',
    setup(build) {
      build.onLoad({ filter: /[\\/]playwright-core[\\/]lib[\\/]coreBundle\.js$/ }, async ({ path: file }) => {
        const folder = path.resolve(file, '../..');
        const { name, version } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
          readonly name: string;
          readonly version: string;
        };
        const browsers = await readFile(path.join(folder, 'browsers.json'), 'utf8');
        let contents = await readFile(file, 'utf8');
        for (const [call, value] of [
          [/\w+\.default\.join\(__dirname, "\.\."\)/, '""'],
          [/require\(\w+\.default\.join\(packageRoot, "package\.json"\)\)/, JSON.stringify({ name, version })],
          [/require\(\w+\.default\.join\(packageRoot, "browsers\.json"\)\)/, browsers],
        ] as const)
          contents = replaceOnce(contents, call, value);
        return { contents, loader: 'js' };
      });
    },
  };
}

function replaceOnce(text: string, call: RegExp, value: string): string {
  if (text.split(call).length !== 2)
    throw new Error(`playwright-core has changed: it must contain ${call} exactly once`);
  return text.replace(call, () => value);
}
