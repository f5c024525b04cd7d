/** In-memory files under `/w`, for tests of code that reads users' files. */
import { StudioError } from '../../src/common/errors.ts';
import type { Files } from '../../src/config/files.ts';
import { isAbsolute, joinPath } from '../../src/config/paths.ts';

export interface MemoryFiles extends Files {
  /** How many bytes `bytes` has returned so far. */
  readonly bytesRead: () => number;
}

/** Keys are paths relative to `/w`. Content comes in pieces of `piece` bytes. */
export function memoryFiles(content: Readonly<Record<string, string | Uint8Array>>, piece = 7): MemoryFiles {
  const map = new Map(
    Object.entries(content).map(([path, data]) => [
      joinPath('/w', path),
      typeof data === 'string' ? new TextEncoder().encode(data) : data,
    ]),
  );
  const need = (path: string): Uint8Array => {
    const found = map.get(path);
    if (found === undefined) throw new StudioError('not_found', `There is no file ${path}.`);
    return found;
  };
  let count = 0;
  return {
    bytesRead: () => count,
    absolute: (path) => (isAbsolute(path) ? path : joinPath('/w', path)),
    readText: (path) => Promise.resolve(new TextDecoder('utf-8').decode(need(path))),
    async *bytes(path) {
      const data = need(path);
      for (let at = 0; at < data.length; at += piece) {
        await Promise.resolve();
        const chunk = data.subarray(at, at + piece);
        count += chunk.length;
        yield chunk;
      }
    },
    stat(path) {
      const data = map.get(path);
      if (data !== undefined) return Promise.resolve({ kind: 'file' as const, bytes: data.length });
      const folder = [...map.keys()].some((key) => key.startsWith(`${path}/`));
      return Promise.resolve(folder ? { kind: 'folder' as const, bytes: 0 } : undefined);
    },
    list(folder) {
      const prefix = folder === '/' ? '/' : `${folder}/`;
      const names = new Set<string>();
      for (const key of map.keys()) {
        if (!key.startsWith(prefix)) continue;
        const [name = '', ...rest] = key.slice(prefix.length).split('/');
        names.add(rest.length === 0 ? name : `${name}/`);
      }
      return Promise.resolve([...names].sort());
    },
  };
}
