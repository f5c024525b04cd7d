/** Finds the files and folders that arguments of programs name. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the paths that an argument may name: itself, the value of an option (`--config=PATH`, `-C/PATH`), and the
 * path of a `file:` URL. Without those whose value is only known later, and without text that only looks like a path
 * from the root of a disk, such as the route `/mcp`. Relative paths start at `folder`.
 */
export function pathsNamed(argument: string, folder: string): string[] {
  const option = /^(?:-[A-Za-z](?=[./\\~])|[\w.-]+=)(.+)$/s.exec(argument)?.[1];
  return [argument, ...(option === undefined ? [] : [option])].flatMap((text) => {
    if (text.includes('${') || text.includes('\0') || text.includes('\n')) return [];
    const named = /^file:/i.test(text) && URL.canParse(text) ? fromUrl(text) : text;
    if (named === undefined || /^[a-z][a-z0-9+.-]+:\/\//i.test(named)) return [];
    const absolute = path.resolve(folder, named);
    return path.isAbsolute(named) && !existsSync(topOf(absolute)) ? [] : [absolute];
  });
}

/** Returns the first folder or file of an absolute path. */
function topOf(absolute: string): string {
  const { root } = path.parse(absolute);
  return path.join(root, absolute.slice(root.length).split(path.sep)[0] ?? '');
}

/** Returns undefined for a URL of another machine. */
function fromUrl(text: string): string | undefined {
  try {
    return fileURLToPath(text);
  } catch {
    return undefined;
  }
}
