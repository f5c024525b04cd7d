/** Calls of a server for backups and copies. Apart from `Api`, because few programs need them. */
import type { z } from 'zod';
import { StudioError } from '../common/errors.ts';
import type { Api } from './api.ts';
import {
  type BeginRestore,
  type CopyState,
  copyState,
  type RestoreResult,
  restoreProgress,
  restoreResult,
} from './archive.ts';

/** Returns the bytes of a backup, as the server makes it. */
export async function readBackup(api: Api, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  return (await api.stream({ method: 'GET', path: '/v1/backup', signal })).chunks();
}

export async function beginRestore(api: Api, archive: BeginRestore, signal: AbortSignal): Promise<number> {
  return (await post(api, '/v1/restores', restoreProgress, JSON.stringify(archive), signal)).frames;
}

/** Sends frames after the first `from`. Returns how many are restored. */
export async function sendFrames(
  api: Api,
  { sha256, from, bytes }: { readonly sha256: string; readonly from: number; readonly bytes: Uint8Array },
  signal: AbortSignal,
): Promise<number> {
  return (await post(api, `/v1/restores/${sha256}?from=${from}`, restoreProgress, bytes, signal)).frames;
}

export function endRestore(api: Api, sha256: string, resume: boolean, signal: AbortSignal): Promise<RestoreResult> {
  return post(api, `/v1/restores/${sha256}/end`, restoreResult, JSON.stringify({ resume }), signal);
}

/** Returns a page of a copy of a batch. */
export async function readCopy(
  api: Api,
  batch: string,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  const reply = await api.send({
    method: 'GET',
    path: `/v1/batches/${encodeURIComponent(batch)}/copy${query}`,
    signal,
  });
  return reply.bytes();
}

/** Returns what a server has of a copy of a batch. */
export async function stateOfCopy(api: Api, batch: string, signal: AbortSignal): Promise<CopyState> {
  const reply = await api.send({ method: 'GET', path: `/v1/copies/${encodeURIComponent(batch)}`, signal });
  return parsed(copyState, await reply.text());
}

export interface CopyTarget {
  readonly batch: string;
  readonly after: string | undefined;
  readonly keepOwner: boolean;
}

/** Sends a page of a copy. Returns what the server has then. */
export function sendCopy(
  api: Api,
  { batch, after, keepOwner }: CopyTarget,
  page: Uint8Array,
  signal: AbortSignal,
): Promise<CopyState> {
  const query = new URLSearchParams({
    ...(after === undefined ? {} : { after }),
    ...(keepOwner ? { keep_owner: '1' } : {}),
  }).toString();
  return post(
    api,
    `/v1/copies/${encodeURIComponent(batch)}${query === '' ? '' : `?${query}`}`,
    copyState,
    page,
    signal,
  );
}

export async function dropCopy(api: Api, batch: string, signal: AbortSignal): Promise<void> {
  await api.send({ method: 'POST', path: `/v1/copies/${encodeURIComponent(batch)}/drop`, body: '{}', signal });
}

async function post<T>(
  api: Api,
  path: string,
  schema: z.ZodType<T>,
  body: string | Uint8Array,
  signal: AbortSignal,
): Promise<T> {
  const reply = await api.send({ method: 'POST', path, body, signal });
  return parsed(schema, await reply.text());
}

function parsed<T>(schema: z.ZodType<T>, text: string): T {
  const result = schema.safeParse(JSON.parse(text));
  if (result.success) return result.data;
  throw new StudioError('version', 'The server sent an unexpected response.', {
    hint: 'Use a client and a server of the same version.',
  });
}
