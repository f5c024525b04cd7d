import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Plugin, transform } from 'esbuild';

/**
 * What playwright-core contains for its command line, its MCP server, and its test runner, which nothing here calls. Of
 * its own files, esbuild drops those; of its libraries, these.
 */
const UNUSED = new RegExp(
  `^node_modules/(?:${[
    '@hono/node-server',
    '@modelcontextprotocol/sdk',
    'ajv-formats',
    'ansi-colors',
    'chokidar',
    'commander',
    'enquirer',
    'fast-uri',
    'json5',
    'readdirp',
    'source-map',
    'source-map-support',
    'zod',
    'zod-to-json-schema',
  ].join('|')})/`,
);
/** The first line of a file in a bundle. */
const FILE = /^\/\/ ((?:node_modules|packages)\/\S+)$/m;

/**
 * Lets `playwright-core` run from a bundle, without what is not used: it reads its own package.json and its list of
 * browsers from the disk while it loads. Its recorder, trace viewer, reports, and installers are separate files, which
 * are not bundled.
 */
export function browserLibrary(): Plugin {
  return {
    name: 'browser-library',
    setup(build) {
      const load = (filter: RegExp, contentsOf: (text: string, file: string) => Promise<string> | string): void =>
        build.onLoad({ filter }, async ({ path: file }) => ({
          contents: await contentsOf(await readFile(file, 'utf8'), file),
          loader: 'js',
        }));
      load(
        /[\\/]playwright-core[\\/]index\.mjs$/,
        () => `
          import './lib/bootstrap.js';
          import { inprocess } from "./lib/coreBundle.js";
          export const { chromium, errors } = inprocess.playwright;
        `,
      );
      load(/[\\/]playwright-core[\\/]lib[\\/]coreBundle\.js$/, core);
      load(/[\\/]playwright-core[\\/]lib[\\/]utilsBundle\.js$/, (text) => shortened(withoutUnused(text)));
    },
  };
}

/** Returns the bundle of the library's own files as an ES module, of which esbuild drops what is not used. */
async function core(text: string, file: string): Promise<string> {
  const folder = path.resolve(file, '../..');
  const { name, version } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
  };
  const browsers = await readFile(path.join(folder, 'browsers.json'), 'utf8');
  let contents = text;
  for (const [call, value] of [
    [/\w+\.default\.join\(__dirname, "\.\."\)/, '""'],
    [/require\(\w+\.default\.join\(packageRoot, "package\.json"\)\)/, JSON.stringify({ name, version })],
    [/require\(\w+\.default\.join\(packageRoot, "browsers\.json"\)\)/, browsers],
    [/^module\.exports = __toCommonJS\(coreBundle_exports\);$/m, ''],
    [/^init_coreBundle\(\);$/m, 'init_inprocess();'],
    [/^0 && \(module\.exports = \{[^}]*\}\);$/m, ''],
  ] as const)
    contents = replaceOnce(contents, call, value);
  contents = contents
    .replaceAll(/^(var \w+ = )(__esm|__commonJS)\(/gm, '$1/* @__PURE__ */ $2(')
    .replaceAll(/^(var (\w+) = )\{\};\n__export\(\2, /gm, '$1/* @__PURE__ */ __exported(');
  return `${await shortened(contents)}
    function __exported(all) { const target = {}; __export(target, all); return target; }
    export { inprocess_exports as inprocess };
  `;
}

/**
 * Shortens the names inside functions, which makes the .vsix 70 kB smaller. Those at the top stay, because the library
 * takes the names of its errors from them: a file without exports is a script, whose top may be used by others.
 */
async function shortened(script: string): Promise<string> {
  return (await transform(script, { minifyIdentifiers: true, legalComments: 'none', charset: 'utf8' })).code;
}

/** Returns the bundle of its libraries without the unused ones. What it exports of them is undefined. */
function withoutUnused(bundle: string): string {
  const [head = '', ...files] = bundle.split(FILE);
  const gone = new Set<string>();
  let kept = head;
  for (let index = 0; index < files.length; index += 2) {
    const [name = '', text = ''] = files.slice(index, index + 2);
    if (!UNUSED.test(name)) kept += `// ${name}${text}`;
    else
      for (const [, variable = ''] of text.matchAll(/^(?:var|class|(?:async )?function\*?) (\w+)/gm))
        gone.add(variable);
  }
  // `var import_x = __toESM(require_x());`, and then `var x = import_x.default;`
  kept = kept.replaceAll(
    /^var (\w+) = (?:__toESM\()?(\w+)(?:\(\).*\)|\.default)?;$/gm,
    (line, variable: string, from: string) => {
      if (!gone.has(from)) return line;
      gone.add(variable);
      return '';
    },
  );
  return kept.replaceAll(/^( {2}\w+: \(\) => )(\w+)(?=[.,\n])[^,\n]*/gm, (line, start: string, variable: string) =>
    gone.has(variable) ? `${start}undefined` : line,
  );
}

function replaceOnce(text: string, call: RegExp, value: string): string {
  if (text.split(call).length !== 2)
    throw new Error(`playwright-core has changed: it must contain ${call} exactly once`);
  return text.replace(call, () => value);
}
