/**
 * Sends requests again whose connection was cut, as by a port-forward that drops. All requests may be sent twice,
 * except for those that hand out something once: launches, commands, and groups have IDs, blobs have hashes.
 */
import { sleep } from '../common/abort.ts';
import { StudioError } from '../common/errors.ts';
import type { Transport, WireRequest } from '../protocol/transport.ts';

const ONCE = /^\/v1\/(tickets|login|batches\/[^/]+\/exports)\b/;
const WAITS_MS = [50, 200, 500, 1_000, 2_000];
const CUT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

export function retryTransport(transport: Required<Transport>): Required<Transport> {
  const again = async <T>(request: WireRequest, once: () => Promise<T>): Promise<T> => {
    for (const wait of WAITS_MS) {
      try {
        return await once();
      } catch (error) {
        if (!mayRepeat(request) || !wasCut(error)) throw error;
        await sleep(wait, request.signal);
      }
    }
    return await once();
  };
  return {
    request: (request) => again(request, () => transport.request(request)),
    // Only until it is answered: whoever reads the stream knows where it was cut.
    stream: (request) => again(request, () => transport.stream(request)),
  };
}

function mayRepeat({ method, path, signal }: WireRequest): boolean {
  return signal?.aborted !== true && (method === 'GET' || !ONCE.test(path));
}

/** Returns whether a connection was cut. A server that does not run refuses connections instead. */
export function wasCut(error: unknown): boolean {
  if (!StudioError.is(error, 'unavailable')) return false;
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string') return CUT.has(cause.code) || cause.message === 'aborted';
  return false;
}
