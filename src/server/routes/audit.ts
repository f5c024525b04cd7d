/** Routes that record exports, and return the audit log. */

import { newId } from '../../common/ids.ts';
import type { Json } from '../../common/json.ts';
import { auditPage, exported } from '../../protocol/access.ts';
import { callerOf } from '../access/caller.ts';
import { type Call, limitQuery, param, readJson, wholeQuery } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

const ENTRIES = { usual: 100, most: 1_000 };
const bounds = { least: 0, most: Number.MAX_SAFE_INTEGER };

export function auditRoutes(services: Services): RouteHandler[] {
  return [
    { method: 'GET', path: '/v1/audit', handle: (call) => list(services, call) },
    { method: 'POST', path: '/v1/batches/:batch/exports', handle: (call) => recordExport(services, call) },
  ];
}

/** Administrators see all entries, others their own. */
async function list({ store }: Services, call: Call): Promise<unknown> {
  const { user, all } = callerOf(call.identity);
  const asked = call.query.get('user');
  const who = all ? (asked ?? undefined) : user;
  const batch = call.query.get('batch');
  const since = wholeQuery(call, 'since', bounds);
  const before = wholeQuery(call, 'before', bounds);
  const limit = limitQuery(call, ENTRIES.usual, ENTRIES.most);
  const entries = await store.audit.list({
    limit: limit + 1,
    ...(who === undefined ? {} : { user: who }),
    ...(batch === null ? {} : { batch }),
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  });
  const page = entries.slice(0, limit);
  const last = page.at(-1);
  return auditPage.parse({ entries: page, ...(entries.length > limit && last !== undefined ? { next: last.id } : {}) });
}

/** Records that a client exports a batch. Who it is without a user, only the audit log says. */
async function recordExport({ store, secrets }: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'batch');
  const { format, attempts } = await readJson(call, exported);
  call.about.detail = format;
  const { user } = callerOf(call.identity);
  if (user === undefined) return {};
  const args: Json = { format, attempts };
  await store.addBatchEvent(
    batch,
    'control',
    secrets.clean(batch, { command: newId('c'), verb: 'export', by: 'client', user, args }),
  );
  return {};
}
