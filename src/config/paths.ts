/**
 * Paths with `/` on every system. Supports drive letters (`C:/…`) and network shares (`//server/share/…`), also with
 * backslashes; anywhere else, a backslash is an ordinary character.
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

/** Removes `.`, `..` (where possible), and duplicate and trailing slashes. Returns `.` for an empty path. */
export function normalizePath(path: string): string {
  const { root, parts } = split(path);
  return root + parts.join('/') || '.';
}

export function isAbsolute(path: string): boolean {
  return split(path).root !== '';
}

/** Resolves `path` against `folder`; absolute paths are only normalized. */
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

/** Returns `to` relative to the folder `from`, or `to` itself if it is on another drive. */
export function relative(from: string, to: string): string {
  const a = split(from);
  const b = split(to);
  if (a.root.toLowerCase() !== b.root.toLowerCase()) return normalizePath(to);
  let same = 0;
  while (same < a.parts.length && same < b.parts.length && a.parts[same] === b.parts[same]) same++;
  return [...a.parts.slice(same).map(() => '..'), ...b.parts.slice(same)].join('/') || '.';
}
