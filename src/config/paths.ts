/**
 * Paths as texts with `/`, the same on every system. Understands drive letters (`C:/…`) and network shares
 * (`//server/share/…`), also written with backslashes; elsewhere a backslash is an ordinary character.
 */

interface Split {
  readonly root: string;
  readonly parts: string[];
}

function split(path: string): Split {
  const slashed = /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path) ? path.replaceAll('\\', '/') : path;
  const root = /^(?:[A-Za-z]:\/|\/\/[^/]+\/[^/]+\/?|\/)/.exec(slashed)?.[0] ?? '';
  const parts: string[] = [];
  for (const part of slashed.slice(root.length).split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || root === '') parts.push(part);
  }
  return { root: root === '' || root.endsWith('/') ? root : `${root}/`, parts };
}

/** Without `.`, `..` (where it can be), doubled and closing slashes. The empty path is `.`. */
export function normalizePath(path: string): string {
  const { root, parts } = split(path);
  return root + parts.join('/') || '.';
}

export function isAbsolute(path: string): boolean {
  return split(path).root !== '';
}

/** `path` as seen from `folder`; an absolute path stays what it is. */
export function joinPath(folder: string, path: string): string {
  return isAbsolute(path) ? normalizePath(path) : normalizePath(`${folder}/${path}`);
}

export function dirname(path: string): string {
  const { root, parts } = split(path);
  return root + parts.slice(0, -1).join('/') || '.';
}

export function basename(path: string): string {
  return split(path).parts.at(-1) ?? '';
}

/** How `to` is written from the folder `from`. On another drive there is no such way: then `to` itself. */
export function relative(from: string, to: string): string {
  const a = split(from);
  const b = split(to);
  if (a.root.toLowerCase() !== b.root.toLowerCase()) return normalizePath(to);
  let same = 0;
  while (same < a.parts.length && same < b.parts.length && a.parts[same] === b.parts[same]) same++;
  return [...a.parts.slice(same).map(() => '..'), ...b.parts.slice(same)].join('/') || '.';
}
