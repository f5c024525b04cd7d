/** Blobs by sha256: PUT, HEAD, GET with one Range, and the texts of many. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { StudioError } from '../../common/errors.ts';
import { type BlobTexts, blobNames } from '../../protocol/client.ts';
import { ROLLOUT_HEADER } from '../../protocol/worker.ts';
import { callerOf } from '../access/caller.ts';
import { requireReadable } from '../access/guard.ts';
import { type Call, param, readJson, tooLarge } from '../http/call.ts';
import { sendJson } from '../http/reply.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';
import type { BlobQuota } from '../workers/blobQuota.ts';
import type { SessionAccess } from '../workers/sessionAccess.ts';

const MAX_BLOB_BYTES = 1024 * 1024 * 1024;
const PAGE_BYTES = 4 * 1024 * 1024;

const SHA = /^[0-9a-f]{64}$/;
const RANGE = /^bytes=(\d*)-(\d*)$/;

export function blobRoutes(services: Services, access: SessionAccess, quota: BlobQuota): RouteHandler[] {
  return [
    {
      method: 'PUT',
      path: '/v1/blobs/:sha',
      workers: 'session',
      handle: (call) => put(services, { access, quota }, call),
    },
    {
      method: 'GET',
      path: '/v1/blobs/:sha',
      workers: 'session',
      handle: (call) => get(services, access, call),
    },
    {
      method: 'HEAD',
      path: '/v1/blobs/:sha',
      workers: 'session',
      handle: (call) => get(services, access, call),
    },
    {
      method: 'POST',
      path: '/v1/blobs/texts',
      handle: async (call) => {
        const { shas } = await readJson(call, blobNames);
        await requireReadable(services.store, callerOf(call.identity), shas);
        return texts(services, shas);
      },
    },
  ];
}

async function put(
  services: Services,
  { access, quota }: { readonly access: SessionAccess; readonly quota: BlobQuota },
  call: Call,
): Promise<unknown> {
  const sha = shaOf(call);
  const { request, identity } = call;
  const named = request.headers[ROLLOUT_HEADER];
  const rollout =
    identity?.kind === 'session'
      ? await access.rolloutToWrite(identity, typeof named === 'string' ? named : undefined)
      : undefined;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MAX_BLOB_BYTES) throw tooLarge(MAX_BLOB_BYTES);
  const { user, all } = callerOf(identity);
  const isThere = (await services.store.blobs.has([sha])).has(sha);
  const bytes = limited(request as AsyncIterable<Uint8Array>);
  // Whoever sends the whole content has it; whoever only knows its hash does not.
  if (isThere && !all && user !== undefined) await verify(sha, bytes);
  else if (isThere) request.resume();
  else {
    const store = (content: AsyncIterable<Uint8Array>): Promise<void> => services.store.blobs.put(sha, content);
    await (rollout === undefined ? store(bytes) : quota.meter(rollout, announced, bytes, store));
  }
  if (!all && user !== undefined) await services.store.sharing.uploaded(user, sha);
  return {};
}

async function verify(sha: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  if (hash.digest('hex') !== sha) throw new StudioError('usage', `The content of the blob is not ${sha}.`);
}

async function* limited(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.length;
    if (total > MAX_BLOB_BYTES) throw tooLarge(MAX_BLOB_BYTES);
    yield chunk;
  }
}

async function get(services: Services, access: SessionAccess, call: Call): Promise<undefined> {
  const sha = shaOf(call);
  if (call.identity?.kind === 'session') await access.checkBlob(call.identity, sha);
  const { request, response } = call;
  const { blobs } = services.store;
  const whole = await blobs.get(sha);
  if (whole === undefined) throw new StudioError('not_found', `There is no blob ${sha}.`);
  const headers = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    etag: `"${sha}"`,
    'cache-control': 'private, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  };
  const range = rangeOf(request.headers.range, whole.size);
  if (range === 'none') {
    response.setHeader('content-range', `bytes */${whole.size}`);
    sendJson(response, 416, { value: { error: { code: 'usage', message: `The blob has ${whole.size} bytes.` } } });
    return undefined;
  }
  const part = range === undefined ? whole : await blobs.get(sha, range);
  if (part === undefined) throw new StudioError('not_found', `There is no blob ${sha}.`);
  const length = range === undefined ? whole.size : range.end - range.start + 1;
  response.writeHead(range === undefined ? 200 : 206, {
    ...headers,
    'content-length': length,
    ...(range === undefined ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${whole.size}` }),
  });
  if (request.method === 'HEAD') response.end();
  else await pipeline(part.bytes, response, { signal: call.signal });
  return undefined;
}

/** Reads small blobs of text, such as token records, up to a page: as many as fit, but at least the first. */
async function texts({ store }: Services, shas: readonly string[]): Promise<BlobTexts> {
  const found: string[] = [];
  let size = 0;
  for (const sha of shas) {
    const blob = await store.blobs.get(sha);
    if (blob === undefined) throw new StudioError('not_found', `There is no blob ${sha}.`);
    size += blob.size;
    if (size > PAGE_BYTES && found.length > 0) break;
    found.push(await text(Readable.from(blob.bytes)));
  }
  return { texts: found };
}

/** Parses a Range header. undefined: the whole blob; `none`: outside the blob. Several ranges get the whole blob. */
export function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'none' | undefined {
  const found = RANGE.exec(header ?? '');
  if (found === null) return undefined;
  const [, first = '', last = ''] = found;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'none' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'none' : { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

function shaOf(call: Call): string {
  const sha = param(call, 'sha');
  if (!SHA.test(sha))
    throw new StudioError('usage', 'A blob is identified by its SHA-256 hash: 64 hex digits in lower case.');
  return sha;
}
