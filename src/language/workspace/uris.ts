/** Converts between `file:` URIs and config paths. */
import { normalizePath } from '../../config/paths.ts';

/** Returns undefined for URIs that are not files. */
export function pathOf(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  if (protocol !== 'file:') return undefined;
  let path: string;
  try {
    path = decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  if (host !== '') return normalizePath(`//${host}${path}`);
  const drive = /^\/([A-Za-z]):(?=\/|$)/.exec(path)?.[1];
  return normalizePath(drive === undefined ? path : `${drive.toUpperCase()}${path.slice(2)}`);
}

export function uriOf(path: string): string {
  const encoded = path
    .split('/')
    .map((part) => encodeURIComponent(part))
    .join('/');
  if (path.startsWith('//')) return `file:${encoded}`;
  return path.startsWith('/') ? `file://${encoded}` : `file:///${encoded}`;
}
