/** Replies of a server by path, so that what read it once can read it again without one. */
import { StudioError } from '../../src/common/errors.ts';
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
        text: () => Promise.resolve(get(texts)),
        bytes: () => Promise.resolve(new Uint8Array(Buffer.from(get(blobs), 'base64'))),
      });
    },
  };
}

function pathOf({ method, path, body, range }: Parameters<Transport['request']>[0]): string {
  const sent = typeof body === 'string' ? ` ${body}` : '';
  return `${method} ${path}${sent}${range === undefined ? '' : ` ${range.start}-${range.end}`}`;
}
