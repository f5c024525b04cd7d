import path from 'node:path';
import { ClassedError } from '../../../trace/classedError.ts';
import { bytesOf } from '../bytes.ts';
import type { Gate } from '../web/addresses.ts';
import type { Outgoing } from '../web/outgoing.ts';

export interface Media {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

const SECONDS = 120;

/**
 * A picture or a recording, by its path in the working directory or its address. `types`: what is taken, by endings of
 * names.
 */
export async function mediaOf(
  cwd: string,
  given: string,
  gate: Gate,
  outgoing: Outgoing,
  types: Readonly<Record<string, string>>,
  most: number,
  signal: AbortSignal,
): Promise<Media> {
  const ending = (name: string): string | undefined => types[path.extname(name).toLowerCase()];
  const unknown = (what: string): ClassedError =>
    new ClassedError(
      'tool_error',
      `${given}: ${what} is not among what is taken: ${Object.keys(types)
        .map((name) => name.slice(1))
        .join(', ')}.`,
    );
  if (!/^https?:\/\//i.test(given)) {
    const type = ending(given);
    if (type === undefined) throw unknown(`"${path.extname(given)}"`);
    return { name: path.basename(given), type, bytes: await bytesOf(cwd, given, most) };
  }
  const { download } = await import('../web/download.ts');
  const { url, media, bytes } = await download(given, gate, outgoing, { most, seconds: SECONDS }, signal);
  const type = Object.values(types).includes(media) ? media : ending(url.pathname);
  if (type === undefined) throw unknown(media === '' ? 'this' : media);
  return { name: path.posix.basename(url.pathname) || 'file', type, bytes };
}
