/** Routes for backups, restores, and copies of batches. */
import { once } from 'node:events';
import { StudioError } from '../../common/errors.ts';
import { beginRestore, endRestore, framesOf } from '../../protocol/archive.ts';
import { callerOf, sees } from '../access/caller.ts';
import { servicesFor } from '../access/guard.ts';
import { requireRight } from '../access/rights.ts';
import { type Call, param, readBytes, readJson, wholeQuery } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

const BYTES = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' } as const;
/** A page, or some frames of a backup. One frame may be large. */
const MAX_BODY = 300 * 1024 * 1024;
const frameBounds = { least: 0, most: Number.MAX_SAFE_INTEGER };

export function archiveRoutes(services: Services): RouteHandler[] {
  const { archive } = services.store;
  return [
    { method: 'GET', path: '/v1/backup', handle: (call) => backup(services, call) },
    {
      method: 'POST',
      path: '/v1/restores',
      handle: async (call) => {
        const body = await readJson(call, beginRestore);
        call.about.detail = body.sha256.slice(0, 12);
        return archive.beginRestore(body);
      },
    },
    {
      method: 'POST',
      path: '/v1/restores/:archive',
      handle: async (call) => {
        const from = wholeQuery(call, 'from', frameBounds) ?? 0;
        return archive.restore(param(call, 'archive'), from, framesOf(await readBytes(call.request, MAX_BODY)));
      },
    },
    {
      method: 'POST',
      path: '/v1/restores/:archive/end',
      handle: async (call) => {
        const { resume } = await readJson(call, endRestore);
        const result = await archive.endRestore(param(call, 'archive'), resume);
        await services.endpoints.read();
        for (const batch of result.unfinished) services.supervisor.check(batch);
        return result;
      },
    },
    { method: 'GET', path: '/v1/batches/:batch/copy', handle: (call) => sendPage(services, call) },
    { method: 'GET', path: '/v1/copies/:copy', handle: (call) => stateOf(services, call) },
    { method: 'POST', path: '/v1/copies/:copy', handle: (call) => receivePage(services, call) },
    {
      method: 'POST',
      path: '/v1/copies/:copy/drop',
      handle: async (call) => {
        await archive.dropCopy(param(call, 'copy'), callerOf(call.identity).user);
        return {};
      },
    },
  ];
}

async function backup({ store }: Services, { response, signal }: Call): Promise<undefined> {
  const aborted = once(response, 'close').then(() => {
    throw new StudioError('cancelled', 'The client left before the backup was complete.');
  });
  aborted.catch(() => undefined);
  await store.archive.backup(async (bytes) => {
    if (!response.headersSent) response.writeHead(200, BYTES);
    if (!response.write(bytes)) await Promise.race([once(response, 'drain'), aborted]);
  }, signal);
  response.end();
  return undefined;
}

async function sendPage({ store }: Services, call: Call): Promise<undefined> {
  const batch = param(call, 'batch');
  const after = call.query.get('after') ?? undefined;
  const page = Buffer.concat(await store.archive.copyPage(batch, after));
  if (after === undefined) await record(store, call, batch, 'read');
  call.response.writeHead(200, { ...BYTES, 'content-length': page.byteLength });
  call.response.end(page);
  return undefined;
}

async function stateOf({ store }: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'copy');
  const state = await store.archive.copyState(batch);
  if (state.state !== 'complete') return state;
  const row = (await store.batch(batch))?.row;
  if (row !== undefined && !sees(callerOf(call.identity), row))
    throw new StudioError('conflict', `Batch ${batch} is there already, and is private to another user.`, {
      hint: 'Ask an administrator who it belongs to: its owner can share it.',
    });
  return state;
}

async function receivePage(services: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'copy');
  const keepOwner = call.query.get('keep_owner') === '1';
  if (keepOwner && call.identity?.kind === 'client') requireRight(call.identity, 'administer');
  const { user } = callerOf(call.identity);
  const { store } = services;
  const { usable } = servicesFor(services, call);
  const state = await store.archive.receiveCopy({
    ...{ batch, user, keepOwner, usable },
    after: call.query.get('after') ?? undefined,
    frames: framesOf(await readBytes(call.request, MAX_BODY)),
  });
  if (state.state !== 'complete') return state;
  await record(store, call, batch, 'written');
  return state;
}

/** Notes a copy in the audit log once, not for each of its pages. */
async function record({ audit }: Services['store'], call: Call, batch: string, detail: string): Promise<void> {
  const { user } = callerOf(call.identity);
  await audit.add({ ...(user === undefined ? {} : { user }), what: 'copy', batch, result: 'done', detail });
}
