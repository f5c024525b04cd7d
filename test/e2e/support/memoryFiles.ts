/** A small extension with an in-memory file system: the home of a virtual workspace. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createVSIX } from '@vscode/vsce';

/** The scheme of its URIs. */
export const MEMORY_SCHEME = 'rolloutmemory';

const MANIFEST = {
  name: 'memory-files',
  publisher: 'rollout-studio-tests',
  version: '1.0.0',
  engines: { vscode: '^1.100.0' },
  license: 'MIT',
  main: './extension.js',
  activationEvents: [`onFileSystem:${MEMORY_SCHEME}`],
  extensionKind: ['workspace'],
  capabilities: { virtualWorkspaces: true, untrustedWorkspaces: { supported: true } },
};

/** Runs in the extension host: files by path, with folders derived from the paths. */
const PROGRAM = `
const vscode = require('vscode');
const texts = require('./files.json');
exports.activate = (context) => {
  const files = new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
  const changed = new vscode.EventEmitter();
  const folder = (uri) => (uri.path.endsWith('/') ? uri.path : uri.path + '/');
  const isFolder = (uri) => [...files.keys()].some((name) => name.startsWith(folder(uri)));
  const refuse = () => { throw vscode.FileSystemError.NoPermissions(); };
  context.subscriptions.push(vscode.workspace.registerFileSystemProvider('${MEMORY_SCHEME}', {
    onDidChangeFile: changed.event,
    watch: () => new vscode.Disposable(() => undefined),
    stat: (uri) => {
      const file = files.get(uri.path);
      if (file === undefined && !isFolder(uri)) throw vscode.FileSystemError.FileNotFound(uri);
      return { type: file === undefined ? vscode.FileType.Directory : vscode.FileType.File, ctime: 0, mtime: 0, size: \
file?.length ?? 0 };
    },
    readDirectory: (uri) => {
      const inside = [...files.keys()].filter((name) => name.startsWith(folder(uri))).map((name) => \
name.slice(folder(uri).length).split('/'));
      return [...new Map(inside.map(([name, ...rest]) => [name, rest.length === 0 ? vscode.FileType.File : \
vscode.FileType.Directory]))];
    },
    readFile: (uri) => {
      const file = files.get(uri.path);
      if (file === undefined) throw vscode.FileSystemError.FileNotFound(uri);
      return file;
    },
    writeFile: (uri, content) => {
      files.set(uri.path, Buffer.from(content));
      changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    },
    createDirectory: refuse, delete: refuse, rename: refuse,
  }, { isCaseSensitive: true }));
};
`;

/** Packs it into \`below\`, with the files of \`folder\` at /work. Returns the .vsix and the workspace's URI. */
export async function memoryFiles(
  below: string,
  folder: string,
): Promise<{ readonly provider: string; readonly uri: string }> {
  const source = path.join(below, 'memory-files');
  mkdirSync(source, { recursive: true });
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const texts = Object.fromEntries(
    names.map((name) => [`/work/${path.relative(folder, name).split(path.sep).join('/')}`, readFileSync(name, 'utf8')]),
  );
  for (const [name, text] of [
    ['package.json', JSON.stringify(MANIFEST)],
    ['files.json', JSON.stringify(texts)],
    ['extension.js', PROGRAM],
    ['README.md', 'Files in memory.'],
    ['LICENSE', 'MIT'],
  ] as const)
    writeFileSync(path.join(source, name), text);
  const provider = path.join(below, 'memory-files.vsix');
  await createVSIX({ cwd: source, packagePath: provider, dependencies: false, allowMissingRepository: true });
  return { provider, uri: `${MEMORY_SCHEME}:/work` };
}
