/** What the .vsix may hold and how large it may be, held against the file that was made. */
import { zipEntries } from './zip.ts';

/** Everything that may be in the extension; a file that matches none of these leaked into it. */
export const VSIX_ALLOWED: readonly RegExp[] = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|ThirdPartyNotices\.txt)$/,
  /^dist\/(extension|cli|server|worker|reaper|toolThread|readerThread|language)\.mjs$/,
  /^dist\/chunks\/[\w.-]+\.mjs$/,
  /^dist\/webview\/[\w-]+\.(js|css|ttf)$/,
  // Pictures of the README are for its readers on the web: an installed README shows none.
  /^media\/(?!pictures\/)(?!run\.svg$|show\.svg$)(?:[\w-]+\/)*[\w.-]+$/,
  /^src\/tools\/sdk\.ts$/,
  /^dist\/node_modules\/zod\/(?:[\w-]+\/)*(LICENSE|package\.json|inOne\.json|[\w-]+\.(js|d\.ts))$/,
  /^dist\/node_modules\/esbuild\/(package\.json|LICENSE\.md|esbuild\.wasm\.br|wasm_exec(_node)?\.js)$/,
  /^dist\/node_modules\/esbuild\/(bin\/esbuild|lib\/main\.js)$/,
];
/** What it must hold to work. */
const VSIX_REQUIRED: readonly string[] = [
  'package.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'ThirdPartyNotices.txt',
  'src/tools/sdk.ts',
  'media/sample/gitignore',
  'dist/extension.mjs',
  'dist/cli.mjs',
  'dist/server.mjs',
  'dist/worker.mjs',
  'dist/reaper.mjs',
  'dist/toolThread.mjs',
  'dist/readerThread.mjs',
  'dist/language.mjs',
  'dist/webview/start.js',
  'dist/webview/page.js',
  'dist/webview/page.css',
  'dist/webview/try.js',
  'dist/webview/try.css',
  'dist/webview/codicon.ttf',
  'dist/node_modules/zod/index.js',
  'dist/node_modules/zod/inOne.json',
  'dist/node_modules/zod/package.json',
  'dist/node_modules/esbuild/esbuild.wasm.br',
  'dist/node_modules/esbuild/lib/main.js',
];
/** What one downloads. */
export const VSIX_LARGEST_BYTES = 7.5 * 1024 * 1024;

/** What `vsce` names in its own way. */
const RENAMED: Readonly<Record<string, string>> = {
  'readme.md': 'README.md',
  'changelog.md': 'CHANGELOG.md',
  'LICENSE.txt': 'LICENSE',
};
/** What `vsce` adds. */
const ADDED = new Set(['extension.vsixmanifest', '[Content_Types].xml']);

export interface VsixContents {
  /** Paths as in the project, sorted. */
  readonly files: readonly string[];
  /** What lies beside the extension and is not `vsce`'s own. */
  readonly strangers: readonly string[];
  readonly bytes: number;
}

/** Reads the list of files of a made .vsix. */
export function vsixContents(file: string): VsixContents {
  const { entries, bytes } = zipEntries(file);
  const inside = entries.filter((name) => name.startsWith('extension/')).map((name) => name.slice('extension/'.length));
  return {
    files: inside.map((name) => RENAMED[name] ?? name).sort(),
    strangers: entries.filter((name) => !name.startsWith('extension/') && !ADDED.has(name)),
    bytes,
  };
}

/** One line for each thing that is wrong with a made .vsix. */
export function vsixProblems({ files, strangers, bytes }: VsixContents): string[] {
  const leaked = [...files.filter((file) => !VSIX_ALLOWED.some((pattern) => pattern.test(file))), ...strangers];
  const problems = leaked.map((file) => `${file}: is in the .vsix and should not be`);
  problems.push(
    ...VSIX_REQUIRED.filter((file) => !files.includes(file)).map((file) => `${file}: is missing in the .vsix`),
  );
  if (bytes > VSIX_LARGEST_BYTES) problems.push(`the .vsix is ${bytes} bytes, more than ${VSIX_LARGEST_BYTES}`);
  return problems;
}
