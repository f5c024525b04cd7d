/** Replies of a server by path, so that what read it once can read it again without one. */
import { z } from 'zod';
import { StudioError } from '../../src/common/errors.ts';
import { jsonOf } from '../../src/common/json.ts';
import { blobTexts } from '../../src/protocol/client.ts';
import type { Transport, WireReply } from '../../src/protocol/transport.ts';

/** Texts by path. Blobs are in base64. */
export interface Recording {
  readonly texts: Record<string, string>;
  readonly blobs: Record<string, string>;
}

/** Sends requests on, and adds their replies. Only for what reads. */
export function recording(transport: Transport, { texts, blobs }: Recording): Transport {
  return {
    async request(request) {
      const reply = await transport.request(request);
      const path = pathOf(request);
      if (reply.status !== 200) return reply;
      return {
        status: reply.status,
        text: async () => (texts[path] = await reply.text()),
        bytes: async () => {
          const bytes = await reply.bytes();
          blobs[path] = Buffer.from(bytes).toString('base64');
          return bytes;
        },
      };
    },
  };
}

/** Replies from a recording. Throws StudioError `not_found` for what it has not. */
export function replaying({ texts, blobs }: Recording): Transport {
  const known = blobTextsOf(texts);
  return {
    request(request): Promise<WireReply> {
      const path = pathOf(request);
      const get = (of: Record<string, string>): string => {
        const found = of[path];
        if (found === undefined) throw new StudioError('not_found', `The recording has no reply to ${path}.`);
        return found;
      };
      return Promise.resolve({
        status: 200,
        text: () => Promise.resolve(joined(path, known) ?? get(texts)),
        bytes: () => Promise.resolve(new Uint8Array(Buffer.from(get(blobs), 'base64'))),
      });
    },
  };
}

const BLOB_TEXTS = 'POST /v1/blobs/texts ';
const requestedTexts = z.object({ shas: z.array(z.string()) });

/** Texts of recorded blobs by hash. */
function blobTextsOf(texts: Recording['texts']): Map<string, string> {
  const known = new Map<string, string>();
  for (const [path, reply] of Object.entries(texts)) {
    if (!path.startsWith(BLOB_TEXTS)) continue;
    const { shas } = requestedTexts.parse(jsonOf(path.slice(BLOB_TEXTS.length)));
    const found = blobTexts.parse(jsonOf(reply)).texts;
    for (const [index, text] of found.entries()) known.set(shas[index] ?? '', text);
  }
  return known;
}

/** Replies to a request for texts of blobs, which may be for others together than when they were recorded. */
function joined(path: string, known: ReadonlyMap<string, string>): string | undefined {
  if (!path.startsWith(BLOB_TEXTS)) return undefined;
  const { shas } = requestedTexts.parse(jsonOf(path.slice(BLOB_TEXTS.length)));
  const texts = shas.flatMap((sha) => known.get(sha) ?? []);
  return texts.length === shas.length ? JSON.stringify({ texts }) : undefined;
}

function pathOf({ method, path, body, range }: Parameters<Transport['request']>[0]): string {
  const sent = typeof body === 'string' ? ` ${body}` : '';
  return `${method} ${path}${sent}${range === undefined ? '' : ` ${range.start}-${range.end}`}`;
}
