import path from 'node:path';
import { ClassedError } from '../../../trace/classedError.ts';
import { bytesOf } from '../bytes.ts';
import type { Gate } from '../web/addresses.ts';
import type { Outgoing } from '../web/outgoing.ts';

interface Media {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

const DOWNLOAD_SECONDS = 120;

/**
 * Reads an image or recording from a path in the working directory or a URL. `types`: supported media types by
 * extension.
 */
export async function mediaOf(
  cwd: string,
  source: string,
  gate: Gate,
  outgoing: Outgoing,
  types: Readonly<Record<string, string>>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Media> {
  const ending = (name: string): string | undefined => types[path.extname(name).toLowerCase()];
  const unknown = (what: string): ClassedError =>
    new ClassedError(
      'tool_error',
      `${source}: ${what} is not supported. Supported types: ${Object.keys(types)
        .map((name) => name.slice(1))
        .join(', ')}.`,
    );
  if (!/^https?:\/\//i.test(source)) {
    const type = ending(source);
    if (type === undefined) throw unknown(`"${path.extname(source)}"`);
    return { name: path.basename(source), type, bytes: await bytesOf(cwd, source, maxBytes) };
  }
  const { download } = await import('../web/download.ts');
  const { url, media, bytes } = await download(source, gate, outgoing, { maxBytes, seconds: DOWNLOAD_SECONDS }, signal);
  const type = Object.values(types).includes(media) ? media : ending(url.pathname);
  if (type === undefined) throw unknown(media === '' ? 'this type' : media);
  return { name: path.posix.basename(url.pathname) || 'file', type, bytes };
}
