/** Checks the contents and the size of a built .vsix. */
import { zipEntries } from './zip.ts';

/** Everything that may be in the extension; a file that matches none of these does not belong there. */
export const VSIX_ALLOWED: readonly RegExp[] = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|ThirdPartyNotices\.txt)$/,
  /^dist\/(extension|cli|server|worker|reaper|moduleProcess|tool(Server|Relay|Thread)|readerThread)\.mjs$/,
  /^dist\/(template|language|checkpointThread)\.mjs$/,
  /^dist\/chunks\/[\w.-]+\.mjs$/,
  /^dist\/zodInOne\.json$/,
  /^dist\/webview\/[\w-]+\.(js|css|ttf)$/,
  // The README's pictures are on the web: an installed README shows none.
  /^media\/(?!pictures\/)(?:[\w-]+\/)*[\w.-]+$/,
  /^src\/tools\/sdk\.ts$/,
  /^dist\/node_modules\/zod\/(?:[\w-]+\/)*(LICENSE|package\.json|[\w-]+\.(js|d\.ts))$/,
  /^dist\/node_modules\/(@types\/node|undici-types)\/(?:[\w.-]+\/)*(LICENSE|package\.json|[\w.-]+\.d\.ts)$/,
  /^dist\/node_modules\/esbuild\/(package\.json|LICENSE\.md|esbuild\.wasm\.br|wasm_exec(_node)?\.js)$/,
  /^dist\/node_modules\/esbuild\/(bin\/esbuild|lib\/main\.js)$/,
];
/** Files that it needs to work. */
const VSIX_REQUIRED: readonly string[] = [
  'package.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'ThirdPartyNotices.txt',
  'src/tools/sdk.ts',
  'media/sample/gitignore',
  'media/python/world_lint.py',
  'dist/extension.mjs',
  'dist/cli.mjs',
  'dist/server.mjs',
  'dist/worker.mjs',
  'dist/reaper.mjs',
  'dist/moduleProcess.mjs',
  'dist/toolServer.mjs',
  'dist/toolRelay.mjs',
  'dist/toolThread.mjs',
  'dist/readerThread.mjs',
  'dist/checkpointThread.mjs',
  'dist/template.mjs',
  'dist/language.mjs',
  'dist/zodInOne.json',
  'dist/webview/start.js',
  'dist/webview/page.js',
  'dist/webview/page.css',
  'dist/webview/try.js',
  'dist/webview/try.css',
  'dist/webview/world.js',
  'dist/webview/world.css',
  'dist/webview/codicon.ttf',
  'dist/node_modules/zod/index.js',
  'dist/node_modules/zod/package.json',
  'dist/node_modules/@types/node/index.d.ts',
  'dist/node_modules/undici-types/index.d.ts',
  'dist/node_modules/esbuild/esbuild.wasm.br',
  'dist/node_modules/esbuild/lib/main.js',
];
/** Maximum size of the download. */
export const VSIX_LARGEST_BYTES = 8 * 1024 * 1024;

/** Names that `vsce` changes. */
const RENAMED: Readonly<Record<string, string>> = {
  'readme.md': 'README.md',
  'changelog.md': 'CHANGELOG.md',
  'LICENSE.txt': 'LICENSE',
};
/** Files that `vsce` adds. */
const ADDED = new Set(['extension.vsixmanifest', '[Content_Types].xml']);

export interface VsixContents {
  /** Paths as in the project, sorted. */
  readonly files: readonly string[];
  /** Files next to the extension that are not `vsce`'s own. */
  readonly strangers: readonly string[];
  readonly bytes: number;
}

/** Reads the list of files of a built .vsix. */
export function vsixContents(file: string): VsixContents {
  const { entries, bytes } = zipEntries(file);
  const inside = entries.filter((name) => name.startsWith('extension/')).map((name) => name.slice('extension/'.length));
  return {
    files: inside.map((name) => RENAMED[name] ?? name).sort(),
    strangers: entries.filter((name) => !name.startsWith('extension/') && !ADDED.has(name)),
    bytes,
  };
}

/** Returns one line for each problem of a built .vsix. */
export function vsixProblems({ files, strangers, bytes }: VsixContents): string[] {
  const leaked = [...files.filter((file) => !VSIX_ALLOWED.some((pattern) => pattern.test(file))), ...strangers];
  const problems = leaked.map((file) => `${file}: must not be in the .vsix`);
  problems.push(
    ...VSIX_REQUIRED.filter((file) => !files.includes(file)).map((file) => `${file}: is missing from the .vsix`),
  );
  if (bytes > VSIX_LARGEST_BYTES) problems.push(`the .vsix is ${bytes} bytes; the maximum is ${VSIX_LARGEST_BYTES}`);
  return problems;
}
