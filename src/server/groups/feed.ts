/**
 * The feed of a batch: its groups in the order in which they ended. A reader that comes again with the cursor of the
 * last group that it has misses none, whichever server it asks.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import { trimmedError } from '../../common/trimmed.ts';
import { MAX_WAIT_SECONDS } from '../../protocol/groups.ts';
import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { BatchRecord } from '../../store/store.ts';
import { ESTIMATORS, type Estimator } from '../../trace/groups/advantages.ts';
import { recordOf } from '../batches/create.ts';
import { type Call, limitQuery, param, wholeQuery } from '../http/call.ts';
import type { Services } from '../services.ts';
import { type Delivery, groupText } from './content.ts';
import { groupCursor, revOf } from './cursor.ts';
import { nextGroups } from './nextGroups.ts';

const GROUPS = { usual: 64, most: 1_000 };
/** Groups that a stream looks up at once, unless each is judged when the reader takes it. */
const AT_A_TIME = 16;
/** Proxies close a connection on which nothing is sent, some after 10 s. */
const COMMENT_EVERY_MS = 5_000;
/** A reader that takes nothing for so long is gone. */
const STALLED_MS = 60_000;

/** `GET /v1/batches/<id>/groups`: JSON Lines, or server-sent events if the client accepts them. */
export async function feed(services: Services, call: Call): Promise<undefined> {
  const record = await recordOf(services, param(call, 'batch'));
  services.trained();
  const settings = record.spec.group;
  if (settings === undefined)
    throw new StudioError('conflict', `Batch ${record.row.batch} was not created for groups.`, {
      hint: 'Export its attempts with `rollout export BATCH --to groups`.',
    });
  if (record.row.trimmed !== undefined) throw trimmedError(record.row.batch, record.row.trimmed);
  const estimator = estimatorOf(call.query.get('estimator')) ?? settings.estimator;
  const isStream = call.request.headers.accept?.includes('text/event-stream') === true;
  const last = isStream ? call.request.headers['last-event-id'] : undefined;
  const after = revOf(record.row, typeof last === 'string' ? last : (call.query.get('after') ?? undefined));
  const reading = { after, delivery: { ...settings, estimator } };
  if (isStream) await events(services, call, record, reading);
  else await lines(services, call, record, reading);
  return undefined;
}

interface Reading {
  readonly after: number;
  readonly delivery: Omit<Delivery, 'versionOf'>;
}

async function lines(services: Services, call: Call, { row }: BatchRecord, reading: Reading): Promise<void> {
  const limit = limitQuery(call, GROUPS.usual, GROUPS.most);
  const wait = wholeQuery(call, 'wait', { least: 0, most: MAX_WAIT_SECONDS }) ?? 0;
  const { response, signal } = call;
  // Those that end while it is sent are in the next one: the reader has a line when it has the whole response.
  const groups = await nextGroups(services, row.batch, reading.after, { limit, wait, signal });
  if (signal.aborted) return;
  response.writeHead(200, headers('application/x-ndjson; charset=utf-8'));
  for (const group of groups) {
    for await (const piece of await textOf(services, group, reading, signal)) await write(call, piece);
    await write(call, '\n');
  }
  response.end();
}

async function textOf(
  { store, endpoints }: Services,
  group: FinishedGroupRecord,
  { delivery }: Reading,
  signal: AbortSignal,
): Promise<AsyncGenerator<string>> {
  const versionOf = await endpoints.versionsFor(group.row.batch);
  return groupText(store, group, { ...delivery, versionOf }, signal);
}

async function events(services: Services, call: Call, { row }: BatchRecord, reading: Reading): Promise<void> {
  const { response, signal } = call;
  response.writeHead(200, headers('text/event-stream; charset=utf-8'));
  response.flushHeaders();
  let { after } = reading;
  // A comment between the pieces of a line would become part of it.
  let isInLine = false;
  const comments = setInterval(() => {
    if (!isInLine && !response.writableNeedDrain) response.write(':\n\n');
  }, COMMENT_EVERY_MS);
  try {
    while (!signal.aborted) {
      const groups: readonly FinishedGroupRecord[] = await nextGroups(services, row.batch, after, {
        limit: reading.delivery.stale === 'wait' ? 1 : AT_A_TIME,
        wait: MAX_WAIT_SECONDS,
        signal,
      });
      for (const group of groups) {
        const pieces = await textOf(services, group, reading, signal);
        isInLine = true;
        // A reader takes the ID only with the empty line at the end.
        await write(call, `id: ${groupCursor(row.batch, group.rev)}\nevent: group\ndata: `);
        for await (const piece of pieces) await write(call, piece);
        await write(call, '\n\n');
        isInLine = false;
        after = group.rev;
      }
      if (groups.length > 0) continue;
      const now = await services.store.batch(row.batch);
      if (now === undefined || now.row.state === 'ended') {
        await write(call, 'event: end\ndata: {}\n\n');
        break;
      }
    }
  } catch (error) {
    services.log(`the feed of ${row.batch} failed: ${errorText(error)}`, { level: 'warning', batch: row.batch });
    response.destroy(); // its reader comes again with the newest ID
  } finally {
    clearInterval(comments);
    response.end();
  }
}

/** Waits until the reader has room. Throws `cancelled` if it is gone, or takes nothing. */
async function write({ response, signal }: Call, text: string): Promise<void> {
  if (signal.aborted) throw new StudioError('cancelled', 'The reader of the feed is gone.');
  if (response.write(text)) return;
  const done = new AbortController();
  try {
    const end = AbortSignal.any([signal, done.signal]);
    const drained = once(response, 'drain', { signal: end }).then(
      () => true,
      () => false,
    );
    const stalled = delay(STALLED_MS, false, { signal: end, ref: false }).catch(() => false);
    if (await Promise.race([drained, stalled])) return;
    response.destroy();
    throw new StudioError('cancelled', 'The reader of the feed takes nothing.');
  } finally {
    done.abort();
  }
}

function headers(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
  };
}

function estimatorOf(written: string | null): Estimator | undefined {
  if (written === null) return undefined;
  const found = ESTIMATORS.find((one) => one === written);
  if (found === undefined)
    throw new StudioError('usage', `There is no estimator “${written.slice(0, 50)}”.`, {
      hint: `Available: ${ESTIMATORS.join(', ')}.`,
    });
  return found;
}
