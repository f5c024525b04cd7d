/**
 * The import rules of the layout: which room may import which at run time. Type-only imports are exempt, and so
 * are `main.ts` files, where the rooms are put together.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

interface Room {
  /** Rooms of `src/` it may import; its own is always allowed. */
  readonly rooms: readonly string[];
  /** Whether it may use what only Node has. */
  readonly node: boolean;
}

const ANYWHERE = { node: false } as const;
const NODE = { node: true } as const;
const DATA = ['common', 'config', 'trace', 'protocol'] as const;

export const ROOMS: Readonly<Record<string, Room>> = {
  common: { ...ANYWHERE, rooms: [] },
  trace: { ...ANYWHERE, rooms: ['common'] },
  config: { ...ANYWHERE, rooms: ['common', 'trace'] },
  protocol: { ...ANYWHERE, rooms: ['common', 'trace', 'config'] },
  formats: { ...ANYWHERE, rooms: ['common', 'trace'] },
  rollout: { ...ANYWHERE, rooms: DATA },
  model: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout'] },
  tools: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout'] },
  worlds: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout', 'tools'] },
  scoring: { ...NODE, rooms: ['common', 'config', 'trace', 'rollout'] },
  store: { ...NODE, rooms: DATA },
  executor: { ...NODE, rooms: [...DATA, 'store'] },
  server: { ...NODE, rooms: [...DATA, 'store'] },
  worker: { ...NODE, rooms: [...DATA, 'rollout', 'model', 'tools', 'worlds', 'scoring'] },
  client: { ...NODE, rooms: [...DATA, 'formats', 'tools'] },
  cli: { ...NODE, rooms: [...DATA, 'formats', 'tools', 'client', 'model'] },
  build: { ...NODE, rooms: ['common', 'config'] },
};

const NODE_MODULE = /^node:/;

/** Every broken rule below `root/src`, as `file:line: text`. */
export function brokenImports(root: string): string[] {
  const broken: string[] = [];
  const src = path.join(root, 'src');
  for (const file of sources(src)) {
    const relative = path.relative(src, file).split(path.sep).join('/');
    const roomName = relative.includes('/') ? (relative.split('/')[0] ?? '') : '';
    const room = ROOMS[roomName];
    if (room === undefined) {
      broken.push(`src/${relative}:1: no such room in the layout; add it to ROOMS in src/build/imports.ts`);
      continue;
    }
    const composes = path.basename(file) === 'main.ts';
    for (const found of runtimeImports(file)) {
      const problem = check(found.to, file, src, roomName, room, composes);
      if (problem !== undefined) broken.push(`src/${relative}:${found.line}: ${problem}`);
    }
  }
  return broken;
}

function check(to: string, file: string, src: string, roomName: string, room: Room, composes: boolean): string | undefined {
  if (to === 'vscode') return 'only src/host and src/extension.ts import vscode';
  if (NODE_MODULE.test(to)) return room.node ? undefined : `${roomName} runs anywhere and may not import ${to}`;
  if (!to.startsWith('.')) return undefined;
  const target = path.relative(src, path.resolve(path.dirname(file), to)).split(path.sep).join('/');
  if (target.startsWith('..')) return `${to} leads out of src`;
  const targetRoom = target.split('/')[0] ?? '';
  if (targetRoom === roomName || composes || room.rooms.includes(targetRoom)) return undefined;
  return `${roomName} may not import ${targetRoom} (${to}); it may import ${room.rooms.length === 0 ? 'nothing' : room.rooms.join(', ')}`;
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return sources(full);
    return /\.tsx?$/.test(entry.name) ? [full] : [];
  });
}

function runtimeImports(file: string): { to: string; line: number }[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found: { to: string; line: number }[] = [];
  const add = (specifier: ts.Expression): void => {
    if (ts.isStringLiteral(specifier)) found.push({ to: specifier.text, line: source.getLineAndCharacterOfPosition(specifier.getStart()).line + 1 });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword) add(node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && !node.isTypeOnly && node.moduleSpecifier !== undefined) add(node.moduleSpecifier);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword && node.arguments[0] !== undefined) add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
