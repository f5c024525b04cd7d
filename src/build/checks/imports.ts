/**
 * The import rules: which room may import which at run time. Type-only imports are exempt, and so are `main.ts` files,
 * which compose the rooms.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { sourceFiles } from './sourceFiles.ts';

interface Room {
  /** Rooms that it may import, in addition to itself. */
  readonly rooms: readonly string[];
  /** Whether it may use Node's modules. */
  readonly node: boolean;
  /** Whether it may use VS Code's module. */
  readonly vscode?: true;
}

const ANYWHERE = { node: false } as const;
const NODE = { node: true } as const;
const DATA = ['common', 'config', 'trace', 'protocol'] as const;

const ROOMS: Readonly<Record<string, Room>> = {
  common: { ...ANYWHERE, rooms: [] },
  trace: { ...ANYWHERE, rooms: ['common'] },
  config: { ...ANYWHERE, rooms: ['common', 'trace', 'formats'] },
  protocol: { ...ANYWHERE, rooms: ['common', 'trace', 'config'] },
  formats: { ...ANYWHERE, rooms: ['common', 'trace'] },
  disk: { ...NODE, rooms: ['common'] },
  // Connections to servers outside: proxies and authorities.
  net: { ...NODE, rooms: ['common'] },
  rollout: { ...ANYWHERE, rooms: DATA },
  model: { ...NODE, rooms: ['common', 'config', 'trace', 'net', 'rollout'] },
  demo: { ...NODE, rooms: ['common', 'trace'] },
  tools: { ...NODE, rooms: ['common', 'config', 'trace', 'disk', 'net', 'rollout'] },
  worlds: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout', 'tools'] },
  scoring: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout'] },
  store: { ...NODE, rooms: DATA },
  kubernetes: { ...NODE, rooms: [...DATA, 'net'] },
  executor: { ...NODE, rooms: [...DATA, 'disk', 'store', 'kubernetes'] },
  server: { ...NODE, rooms: [...DATA, 'net', 'store'] },
  worker: { ...NODE, rooms: [...DATA, 'disk', 'rollout', 'model', 'tools', 'worlds', 'scoring'] },
  // The status of a cluster tries whether it accepts the pods that the executor creates.
  client: { ...NODE, rooms: [...DATA, 'formats', 'net', 'tools', 'worlds', 'kubernetes', 'executor'] },
  // Repeats recorded calls with the worker's tools and worlds, without a worker.
  rerun: { ...NODE, rooms: [...DATA, 'rollout', 'tools', 'worlds', 'worker', 'client'] },
  // Serves rollouts and environments to trainers that want NeMo Gym.
  gym: {
    ...NODE,
    rooms: [...DATA, 'formats', 'rollout', 'tools', 'worlds', 'scoring', 'worker', 'client', 'rerun'],
  },
  debug: { ...NODE, rooms: [...DATA, 'client'] },
  mcp: { ...NODE, rooms: [...DATA, 'client'] },
  cli: {
    ...NODE,
    rooms: [
      ...DATA,
      'formats',
      'net',
      'tools',
      'client',
      'model',
      'debug',
      'mcp',
      'rerun',
      'gym',
      'kubernetes',
      'language',
    ],
  },
  language: { ...ANYWHERE, rooms: DATA },
  host: { ...NODE, vscode: true, rooms: [...DATA, 'formats', 'net', 'client', 'debug', 'kubernetes'] },
  'extension.ts': { ...NODE, vscode: true, rooms: [...DATA, 'formats', 'client', 'debug', 'host'] },
  webview: { ...ANYWHERE, rooms: ['common', 'protocol', 'trace', 'formats'] },
  // States of the page's components for tests: not part of the page, so the page must not import them.
  stories: { ...ANYWHERE, rooms: ['common', 'protocol', 'trace', 'webview', 'test'] },
  build: { ...NODE, rooms: ['common', 'config', 'protocol', 'trace', 'host', 'tools', 'cli'] },
};
/** The room next to `src/`. */
const WEBVIEW = 'webview';

const NODE_MODULE = /^node:/;

/** Returns every violation below `root/src` and `root/webview`, as `file:line: text`. */
export function brokenImports(root: string): string[] {
  const broken: string[] = [];
  for (const file of [...sourceFiles(path.join(root, 'src')), ...sourceFiles(path.join(root, WEBVIEW))]) {
    const relativePath = path.relative(root, file).split(path.sep).join('/');
    const roomName = roomOf(root, file);
    const room = ROOMS[roomName];
    if (room === undefined) {
      broken.push(`${relativePath}:1: no such room in the layout; add it to ROOMS in src/build/checks/imports.ts`);
      continue;
    }
    for (const imported of runtimeImports(file)) {
      const problem = imported.isBarrel
        ? 'no barrel files: import from the file that defines it'
        : check(imported.to, file, root, roomName, room);
      if (problem !== undefined) broken.push(`${relativePath}:${imported.line}: ${problem}`);
    }
  }
  return broken;
}

/**
 * Returns the room of a file: the folder of `src/`, the name of a file directly in `src/`, `webview`, `stories`, or
 * `test`; empty for other files.
 */
function roomOf(root: string, file: string): string {
  const [top, first] = path.relative(root, file).split(path.sep);
  if (top === WEBVIEW) return first === 'stories' ? first : WEBVIEW;
  if (top === 'test') return top;
  return top === 'src' ? (first ?? '') : '';
}

function check(to: string, file: string, root: string, roomName: string, room: Room): string | undefined {
  if (to === 'vscode') return room.vscode === true ? undefined : 'only src/host and src/extension.ts import vscode';
  if (NODE_MODULE.test(to)) return room.node ? undefined : `${roomName} runs anywhere and may not import ${to}`;
  if (!to.startsWith('.')) return undefined;
  const targetRoom = roomOf(root, path.resolve(path.dirname(file), to));
  if (targetRoom === '') return `${to} leads out of src`;
  const composes =
    path.basename(file) === 'main.ts' &&
    ROOMS[targetRoom] !== undefined &&
    targetRoom !== WEBVIEW &&
    targetRoom !== 'stories';
  if (targetRoom === roomName || composes || room.rooms.includes(targetRoom)) return undefined;
  return (
    `${roomName} may not import ${targetRoom} (${to}); it may import ` +
    (room.rooms.length === 0 ? 'nothing' : room.rooms.join(', '))
  );
}

interface RuntimeImport {
  readonly to: string;
  readonly line: number;
  /** Whether it exports again all that the other file exports. */
  readonly isBarrel: boolean;
}

function runtimeImports(file: string): RuntimeImport[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const imported: RuntimeImport[] = [];
  const add = (specifier: ts.Expression, isBarrel = false): void => {
    if (ts.isStringLiteral(specifier))
      imported.push({
        to: specifier.text,
        isBarrel,
        line: source.getLineAndCharacterOfPosition(specifier.getStart()).line + 1,
      });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword)
      add(node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && !node.isTypeOnly && node.moduleSpecifier !== undefined)
      add(node.moduleSpecifier, node.exportClause === undefined);
    else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0] !== undefined
    )
      add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imported;
}
