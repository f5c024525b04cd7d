/** Finds the tools of a module and its imports, from source text alone. */
import { dirname, joinPath } from '../paths.ts';
import { type ToolInSource, toolsIn } from './toolSource.ts';

/** Returns undefined if the file does not exist. */
export type ReadText = (path: string) => Promise<string | undefined>;

export interface ToolPlace extends ToolInSource {
  readonly path: string;
}

/** Follows at most this many modules, to keep views fast. */
const MAX_MODULES = 50;
const ENDINGS = ['', '.ts', '.js', '.mts', '.mjs', '/index.ts', '/index.js'];
/** `export … from './x.ts'`. */
const REEXPORTS = /^[ \t]*export\b(?![ \t]+type\b)[^;'"]*?\bfrom[ \t]*['"](\.{1,2}\/[^'"\n]+)['"]/gm;
/** `export … from './x.ts'` and `import … from './x.ts'`. */
const IMPORTS = /^[ \t]*(?:import|export)\b(?![ \t]+type\b)[^;'"]*?\bfrom[ \t]*['"](\.{1,2}\/[^'"\n]+)['"]/gm;

/**
 * Returns the tools of a module; undefined if the module does not exist. `exported`: only what it exports or
 * re-exports, which is what an agent gets. `reached`: also those of all modules that it imports, for worlds.
 */
export async function moduleTools(
  path: string,
  how: 'exported' | 'reached',
  readText: ReadText,
): Promise<ToolPlace[] | undefined> {
  const seen = new Set<string>([path]);
  const found: ToolPlace[] = [];
  const queue = [path];
  let first = true;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const text = await readText(next);
    if (text === undefined) {
      if (first) return undefined;
      continue;
    }
    first = false;
    for (const tool of toolsIn(text)) found.push({ ...tool, path: next });
    for (const [, names = ''] of text.matchAll(how === 'exported' ? REEXPORTS : IMPORTS)) {
      const target = await locate(joinPath(dirname(next), names), readText);
      if (target === undefined || seen.has(target) || seen.size >= MAX_MODULES) continue;
      seen.add(target);
      queue.push(target);
    }
  }
  return found;
}

/** Returns the file of a module, whose extension may be missing or that of its compiled output. */
async function locate(path: string, readText: ReadText): Promise<string | undefined> {
  const candidates = [
    ...ENDINGS.map((ending) => path + ending),
    ...(/\.[cm]?js$/.test(path) ? [path.replace(/js$/, 'ts')] : []),
  ];
  for (const candidate of candidates)
    if (/\.[cm]?[jt]sx?$/.test(candidate) && (await readText(candidate)) !== undefined) return candidate;
  return undefined;
}
