/** The tools of a module and of those it leads to, by their texts. */
import { dirname, joinPath } from '../paths.ts';
import { type ToolInSource, toolsIn } from './toolSource.ts';

/** undefined when there is no such file. */
export type ReadText = (path: string) => Promise<string | undefined>;

export interface ToolPlace extends ToolInSource {
  readonly path: string;
}

/** More modules than this are not followed: a view is drawn, not a program analysed. */
const MAX_MODULES = 50;
const ENDINGS = ['', '.ts', '.js', '.mts', '.mjs', '/index.ts', '/index.js'];
/** `export … from './x.ts'`. */
const REEXPORTS = /^[ \t]*export\b(?![ \t]+type\b)[^;'"]*?\bfrom[ \t]*['"](\.{1,2}\/[^'"\n]+)['"]/gm;
/** Those, and `import … from './x.ts'`. */
const IMPORTS = /^[ \t]*(?:import|export)\b(?![ \t]+type\b)[^;'"]*?\bfrom[ \t]*['"](\.{1,2}\/[^'"\n]+)['"]/gm;

/**
 * `exported`: what the module exports, itself or from others, as an agent is given it. `reached`: of all modules it
 * imports, as a world puts its tools together. undefined when there is no such module.
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
    for (const [, named = ''] of text.matchAll(how === 'exported' ? REEXPORTS : IMPORTS)) {
      const target = await locate(joinPath(dirname(next), named), readText);
      if (target === undefined || seen.has(target) || seen.size >= MAX_MODULES) continue;
      seen.add(target);
      queue.push(target);
    }
  }
  return found;
}

/** The file a module is in: its ending may be missing, or be that of what it is compiled to. */
async function locate(path: string, readText: ReadText): Promise<string | undefined> {
  const candidates = [
    ...ENDINGS.map((ending) => path + ending),
    ...(/\.[cm]?js$/.test(path) ? [path.replace(/js$/, 'ts')] : []),
  ];
  for (const candidate of candidates)
    if (/\.[cm]?[jt]sx?$/.test(candidate) && (await readText(candidate)) !== undefined) return candidate;
  return undefined;
}
