import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { request } from 'undici';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import type { Gate } from './addresses.ts';
import { Dispatchers } from './dispatchers.ts';
import type { Outgoing } from './outgoing.ts';

export interface Download {
  /** Final URL after redirects. */
  readonly url: URL;
  readonly media: string;
  readonly charset: string | undefined;
  readonly bytes: Buffer;
}

const MAX_REDIRECTS = 8;
const HEADERS = {
  'user-agent': 'Mozilla/5.0 (compatible; RolloutStudio)',
  accept: 'text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5',
  'accept-language': 'en,*;q=0.5',
  'accept-encoding': 'gzip, deflate, br',
};
const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/**
 * Downloads a URL. Throws ClassedError `tool_error` for error responses, and if the content is larger than `maxBytes`
 * or takes longer than `seconds`.
 */
export async function download(
  address: string,
  gate: Gate,
  outgoing: Outgoing,
  limits: { readonly maxBytes: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Download> {
  const timeout = AbortSignal.timeout(limits.seconds * 1000);
  const both = AbortSignal.any([signal, timeout]);
  const dispatchers = new Dispatchers(gate, outgoing, limits.seconds * 1000);
  try {
    return await follow(gate.check(address), gate, limits.maxBytes, dispatchers, both);
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    if (timeout.aborted)
      throw new ClassedError('tool_error', `${address} did not respond completely within ${limits.seconds} s.`, {
        cause: error,
      });
    throw classed(error, address);
  } finally {
    await dispatchers.end();
  }
}

async function follow(
  first: URL,
  gate: Gate,
  maxBytes: number,
  dispatchers: Dispatchers,
  signal: AbortSignal,
): Promise<Download> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: await dispatchers.to(url),
      signal,
      headers: HEADERS,
    });
    const location = headers['location'];
    if (statusCode >= 300 && statusCode < 400 && typeof location === 'string') {
      await body.dump();
      url = gate.check(URL.canParse(location, url.href) ? new URL(location, url).href : location);
      continue;
    }
    if (statusCode >= 400) {
      await body.dump();
      throw new ClassedError('tool_error', `${url.href} returned status ${statusCode}.`);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new ClassedError('tool_error', `${url.href} is larger than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    const type = String(headers['content-type'] ?? '');
    return {
      url,
      media: (type.split(';')[0] ?? '').trim().toLowerCase(),
      charset: /charset="?([\w-]+)/i.exec(type)?.[1],
      bytes: decoded(Buffer.concat(chunks), String(headers['content-encoding'] ?? ''), maxBytes, url),
    };
  }
  throw new ClassedError('tool_error', `${first.href} redirects more than ${MAX_REDIRECTS} times.`);
}

/** Decompresses the body. */
function decoded(bytes: Buffer, encoding: string, maxBytes: number, url: URL): Buffer {
  const decode = DECODERS[encoding.trim().toLowerCase()];
  if (decode === undefined) return bytes;
  try {
    return decode(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const large = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw new ClassedError(
      'tool_error',
      large ? `${url.href} is larger than ${maxBytes} bytes.` : `Cannot decompress the response of ${url.href}.`,
      { cause: error },
    );
  }
}

function classed(error: unknown, address: string): ClassedError {
  if (error instanceof ClassedError) return error;
  const cause = error instanceof Error && error.cause instanceof ClassedError ? error.cause : undefined;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return (
    cause ??
    new ClassedError(
      'tool_error',
      `Cannot reach ${address}: ${REASONS[code] ?? (error instanceof Error ? error.message : String(error))}.`,
      { cause: error },
    )
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'cannot resolve the host name at the moment',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection lost',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not respond',
};
