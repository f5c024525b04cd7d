/** Which files and folders programs need besides the system's: interpreters on the PATH, and what a command names. */
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/** Files that mark the root of a project. */
const PROJECT = ['package.json', 'pyproject.toml', 'deno.json', 'go.mod', 'Cargo.toml', '.git'];
const SYSTEM = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32|etc|opt|nix)(\/|$)/;
/** Caches of the package runners that start MCP servers, in the home folder. */
const RUNNER_CACHES = ['.npm', '.cache/uv', '.local/share/uv'];

/** Returns the folders of the PATH, and of this Node.js, with what their programs load. */
export function interpreterFolders(env: Readonly<Record<string, string>>): string[] {
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const own = path.dirname(realpathSync(process.execPath));
  return unique([...folders, own].flatMap(withLibraries));
}

/** Returns a folder of programs with the libraries of npm or of a virtual environment of Python next to it. */
function withLibraries(folder: string): string[] {
  if (SYSTEM.test(folder) || !existsSync(folder)) return [];
  const parent = path.dirname(folder);
  // Python's virtual environments, and version managers (pyenv, asdf, mise, Volta): programs refer to their parent.
  const isManaged = path.basename(folder) === 'shims' || path.basename(parent) === '.volta';
  if (isManaged || existsSync(path.join(parent, 'pyvenv.cfg'))) return [parent];
  return [folder, path.join(parent, 'lib', 'node_modules')].filter((each) => existsSync(each));
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** Its own variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it starts. */
  readonly cwd: string;
}

/** What an MCP server may see: it is the user's program, and its command names what it needs. */
export interface CommandFolders {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly caches: readonly string[];
}

/**
 * Returns the folders of a command: what it names in arguments and variables can be changed, also files that it will
 * create, and the projects of these files, with their libraries, can be read. Leaves out what is in `work`, the working
 * directory of the rollout, because it sees all of that, and programs may replace what it names there with links.
 */
export function commandFolders({ file, args, env, cwd }: Command, work: string): CommandFolders {
  const named = [file, ...args.flatMap((arg) => [arg, arg.replace(/^--?[\w-]+=/, '')]), ...Object.values(env)]
    .filter((text) => text.includes('/') && !text.includes('://'))
    .map((text) => path.resolve(cwd, text))
    .map((each) => (existsSync(each) ? each : path.dirname(each)))
    .filter((each) => existsSync(each) && !SYSTEM.test(each) && !isAboveHome(each));
  const beyond = (files: readonly string[]): string[] => unique(files).filter((each) => !isBelow(work, each));
  const folders = [cwd, ...named.map((each) => (isFolder(each) ? each : path.dirname(each)))];
  return {
    read: beyond(folders.flatMap((folder) => [projectOf(folder), ...librariesOf(folder), ...withLibraries(folder)])),
    write: beyond([cwd, ...named]),
    caches: RUNNER_CACHES.map((cache) => path.join(homedir(), cache)).filter((each) => existsSync(each)),
  };
}

/** Returns the nearest folder above that is the root of a project, or the folder itself. */
function projectOf(folder: string): string {
  for (let current = folder; !isAboveHome(current); current = path.dirname(current))
    if (PROJECT.some((name) => existsSync(path.join(current, name)))) return current;
  return folder;
}

/** Returns the folders in which Node.js looks for the packages of a file in `folder`. */
function librariesOf(folder: string): string[] {
  const found: string[] = [];
  for (let current = folder; path.dirname(current) !== current; current = path.dirname(current)) {
    const libraries = path.basename(current) === 'node_modules' ? current : path.join(current, 'node_modules');
    if (existsSync(libraries)) found.push(libraries);
  }
  return found;
}

/** Returns an unused name for the scratch folder of a sandbox, in the folder for all of them. */
export function scratchIn(folder: string): string {
  return path.join(folder, randomUUID());
}

/** Whether a folder is the home folder or contains it: then it contains everything. */
function isAboveHome(folder: string): boolean {
  return path.dirname(folder) === folder || `${homedir()}/`.startsWith(`${folder}/`);
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether `file` is `folder` or in it. */
export function isBelow(folder: string, file: string): boolean {
  return file === folder || file.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}
