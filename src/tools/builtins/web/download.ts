import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { request } from 'undici';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import type { Gate } from './addresses.ts';
import { Dispatchers } from './dispatchers.ts';
import type { Outgoing } from './outgoing.ts';

export interface Download {
  /** After redirects. */
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
 * What an address gives. Throws ClassedError `tool_error` for anything but an answer with content of at most `most`
 * bytes within `seconds`.
 */
export async function download(
  address: string,
  gate: Gate,
  outgoing: Outgoing,
  limits: { readonly most: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Download> {
  const late = AbortSignal.timeout(limits.seconds * 1000);
  const both = AbortSignal.any([signal, late]);
  const ways = new Dispatchers(gate, outgoing, limits.seconds * 1000);
  try {
    return await follow(gate.check(address), gate, limits.most, ways, both);
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    if (late.aborted)
      throw new ClassedError('tool_error', `${address} did not answer in full within ${limits.seconds} s.`, {
        cause: error,
      });
    throw classed(error, address);
  } finally {
    await ways.end();
  }
}

async function follow(first: URL, gate: Gate, most: number, ways: Dispatchers, signal: AbortSignal): Promise<Download> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: await ways.to(url),
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
      throw new ClassedError('tool_error', `${url.href} answered with status ${statusCode}.`);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw new ClassedError('tool_error', `${url.href} has more than ${most} bytes.`);
      chunks.push(chunk);
    }
    const type = String(headers['content-type'] ?? '');
    return {
      url,
      media: (type.split(';')[0] ?? '').trim().toLowerCase(),
      charset: /charset="?([\w-]+)/i.exec(type)?.[1],
      bytes: decoded(Buffer.concat(chunks), String(headers['content-encoding'] ?? ''), most, url),
    };
  }
  throw new ClassedError('tool_error', `${first.href} leads on and on, more than ${MAX_REDIRECTS} times.`);
}

/** As it was before it was made smaller for the way. */
function decoded(bytes: Buffer, encoding: string, most: number, url: URL): Buffer {
  const decode = DECODERS[encoding.trim().toLowerCase()];
  if (decode === undefined) return bytes;
  try {
    return decode(bytes, { maxOutputLength: most });
  } catch (error) {
    const large = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw new ClassedError(
      'tool_error',
      large ? `${url.href} has more than ${most} bytes.` : `What ${url.href} answered cannot be decompressed.`,
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
      `${address} cannot be reached: ${REASONS[code] ?? (error instanceof Error ? error.message : String(error))}.`,
      { cause: error },
    )
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNREFUSED: 'nothing answers there',
  ECONNRESET: 'the connection broke',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer',
};
