/**
 * `npm run notices`: writes ThirdPartyNotices.txt, with the license text of every package that is shipped in a bundle
 * or next to the bundles. `npm run check` fails when the file is missing or stale.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { root as projectRoot } from './bundles.ts';
import { BUNDLED_LIST } from './notices/bundledPackages.ts';

const NOTICES = 'ThirdPartyNotices.txt';
/** Packages in the .vsix next to the bundles (src/build/vsix/stage.ts), and fonts, which no bundle lists. */
export const SHIPPED_WHOLE = [
  'node_modules/zod',
  'node_modules/@types/node',
  'node_modules/undici-types',
  'node_modules/esbuild-wasm',
  'node_modules/@vscode/codicons',
];
/** Packages that are published without their license text, with the text from their repository. */
const LICENSES_OF_REPOSITORIES: Readonly<Record<string, string>> = {
  '@cfworker/json-schema': 'cfworker.txt',
  '@microsoft/fast-element': 'fast.txt',
  '@microsoft/fast-foundation': 'fast.txt',
  '@microsoft/fast-web-utilities': 'fast.txt',
};
/** Packages that contain third-party code: unpdf is a build of Mozilla's PDF.js. `license`: a file with the text. */
const INSIDE_PACKAGES = [
  {
    package: 'node_modules/unpdf',
    line: 'PDF.js, in unpdf · Apache-2.0 · https://mozilla.github.io/pdf.js/',
    license: 'node_modules/@kubernetes/client-node/LICENSE',
  },
] as const;
/** Also the notices of libraries that a package was built from, such as those of playwright-core. */
const LICENSE_FILE = /^(?:licen[cs]es?|copying|notices?|third-?party-?notices?)(?:[.-].*)?$/i;
const RULE = '-'.repeat(80);

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
  homepage: z.string().optional(),
  repository: z.union([z.string(), z.object({ url: z.string() })]).optional(),
});
type PackageManifest = z.infer<typeof manifestSchema>;

/** Returns the text of ThirdPartyNotices.txt. Throws for a package without a license text. Needs `dist/`. */
export function renderNotices(root: string): string {
  const bundled = z.array(z.string()).parse(JSON.parse(readFileSync(path.join(root, BUNDLED_LIST), 'utf8')));
  const byText = new Map<string, string[]>();
  const add = (text: string, line: string): void => void byText.set(text, [...(byText.get(text) ?? []), line]);
  for (const folder of [...new Set([...bundled, ...SHIPPED_WHOLE])].sort()) {
    const manifest = manifestSchema.parse(JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')));
    add(licenseText(path.join(root, folder), manifest), lineOf(manifest));
    for (const inside of INSIDE_PACKAGES)
      if (inside.package === folder) add(textOf(path.join(root, inside.license)), inside.line);
  }
  const sections = [...byText].map(([text, lines]) => [RULE, ...lines, RULE, '', text, ''].join('\n'));
  return [
    'Rollout Studio includes software of third parties. Each package is listed with its license below.',
    '',
    ...sections,
  ].join('\n');
}

/** Returns one line if ThirdPartyNotices.txt does not cover exactly what is shipped. */
export function staleNotices(root: string): string[] {
  const file = path.join(root, NOTICES);
  const written = existsSync(file) ? readFileSync(file, 'utf8').replaceAll('\r\n', '\n') : undefined;
  return written === renderNotices(root) ? [] : [`${NOTICES}: does not match what is shipped; run npm run notices`];
}

function lineOf({ name, version, license, homepage, repository }: PackageManifest): string {
  const source = typeof repository === 'string' ? repository : repository?.url;
  const address = homepage ?? source;
  return [`${name} ${version}`, license, address].filter((part) => part !== undefined).join(' · ');
}

function licenseText(folder: string, { name }: PackageManifest): string {
  const files = readdirSync(folder).sort();
  const texts = files.filter((file) => LICENSE_FILE.test(file)).map((file) => textOf(path.join(folder, file)));
  if (texts.length > 0) return texts.join('\n\n');
  const licenseFile = LICENSES_OF_REPOSITORIES[name];
  if (licenseFile !== undefined) return textOf(path.join(import.meta.dirname, 'notices', 'licenses', licenseFile));
  const readme = files.find((file) => /^readme\.md$/i.test(file));
  const section =
    readme === undefined ? undefined : /^#+ licen[cs]e\s+([^]*)/im.exec(textOf(path.join(folder, readme)));
  if (section?.[1] !== undefined) return section[1].trim();
  throw new Error(`${name} has no license text; add it to src/build/notices/licenses`);
}

function textOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path.join(projectRoot, NOTICES), renderNotices(projectRoot));
  console.log(NOTICES);
}
