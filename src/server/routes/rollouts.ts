/** Routes for rollouts and streams. */

import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { rolloutCommand } from '../../protocol/commands.ts';
import type { Lineage } from '../../protocol/worker.ts';
import { servicesFor } from '../access/guard.ts';
import { recordOf } from '../batches/create.ts';
import { requireTrajectories } from '../batches/trimmed.ts';
import { commandRollout, rolloutOf } from '../commands/rolloutCommand.ts';
import { type Call, limitQuery, param, readJson, wholeQuery } from '../http/call.ts';
import { JsonText, type RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';
import { StreamReader } from '../streamReader.ts';

/** A page of events ends at whichever limit it reaches first. */
const PAGE = { usual: 10_000, most: 50_000 };
const PAGE_BYTES = 2 * 1024 * 1024;
/** Typical size of an event, so that a request for a few events does not read a whole page. */
const EVENT_BYTES = 512;
const MIN_BYTES = 64 * 1024;
/** What is left of a trimmed rollout is small. */
const KEPT_BYTES = 4 * 1024 * 1024;
const seqBounds = { least: 0, most: Number.MAX_SAFE_INTEGER };

export function rolloutRoutes(services: Services): RouteHandler[] {
  return [
    { method: 'GET', path: '/v1/rollouts/:rollout', handle: (call) => info(services, call) },
    {
      method: 'POST',
      path: '/v1/rollouts/:rollout/commands',
      handle: async (call) => {
        const command = await readJson(call, rolloutCommand);
        const rollout = param(call, 'rollout');
        Object.assign(call.about, { what: command.verb, detail: rollout });
        const { row } = await rolloutOf(services, rollout);
        call.about.batch = row.batch;
        return commandRollout(servicesFor(services, call), rollout, command, call.signal);
      },
    },
    {
      method: 'GET',
      path: '/v1/streams/:stream/events',
      workers: 'session',
      handle: (call) => events(services, call),
    },
  ];
}

async function info(services: Services, call: Call): Promise<unknown> {
  const { row, lineage } = await rolloutOf(services, param(call, 'rollout'));
  const [batch, task] = await Promise.all([
    recordOf(services, row.batch),
    services.store.task(row.batch, row.task_index),
  ]);
  if (task === undefined) throw new StudioError('not_found', `The task of rollout ${row.rollout} no longer exists.`);
  const { trimmed } = batch.row;
  return {
    ...{ row, lineage, task, submission: batch.spec.submission },
    ...(trimmed === undefined ? {} : { trimmed: { ...trimmed, events: await keptEvents(services, row.rollout) } }),
  };
}

/** Returns the events of a rollout that are left. While it is being trimmed, there are more. */
async function keptEvents({ store }: Services, rollout: string): Promise<unknown[]> {
  const events = await store.read(rollout, 0, KEPT_BYTES);
  return events.map(({ body }): unknown => JSON.parse(body));
}

async function events(services: Services, call: Call): Promise<JsonText> {
  const stream = param(call, 'stream');
  const { lineage, last, session } = await find(services, stream);
  if (call.identity?.kind === 'session' && call.identity.session !== session)
    throw new StudioError('forbidden', 'A worker can read only the streams of rollouts that it holds.');
  const after = wholeQuery(call, 'after', seqBounds) ?? 0;
  const until = wholeQuery(call, 'until', seqBounds) ?? Infinity;
  if (after > last)
    throw new StudioError(
      'gone',
      `The cursor ${after} is past the end of stream ${stream}, which has ${plural(last, 'event')}.`,
      {
        details: { last },
      },
    );
  const limit = Math.min(limitQuery(call, PAGE.usual, PAGE.most), until - after);
  const reader = new StreamReader(services.store, stream, lineage);
  const bodies: string[] = [];
  let cursor = after;
  let chars = 0;
  while (bodies.length < limit && chars < PAGE_BYTES) {
    const budget = Math.max(MIN_BYTES, (limit - bodies.length) * EVENT_BYTES);
    const chunk = await reader.read(cursor, Math.min(PAGE_BYTES - chars, budget), until);
    if (chunk.bodies.length === 0) break;
    for (const body of chunk.bodies.slice(0, limit - bodies.length)) bodies.push(body);
    cursor = chunk.last;
    chars += chunk.chars;
    if (!chunk.more) break;
  }
  return new JsonText(`{"events":[${bodies.join(',')}],"last":${last}}`);
}

/** Finds the stream of a rollout or a batch. `session`: the one that holds the rollout. Throws `gone`. */
async function find(services: Services, stream: string): Promise<{ lineage: Lineage; last: number; session?: string }> {
  const rollout = await services.store.rollout(stream);
  if (rollout !== undefined) {
    const { lineage, row, session } = rollout;
    await requireTrajectories(services, row);
    return { lineage, last: row.last, ...(session === undefined ? {} : { session }) };
  }
  const batch = await services.store.batch(stream);
  if (batch !== undefined) return { lineage: [], last: batch.row.last };
  throw new StudioError('gone', `There is no stream ${stream.slice(0, 100)} here.`);
}
