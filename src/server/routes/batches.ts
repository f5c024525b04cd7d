/** Routes that create, list, fill, and command batches. */
import { StudioError } from '../../common/errors.ts';
import type { GcResult } from '../../protocol/api.ts';
import {
  appendTasks,
  createBatch as createBatchBody,
  fork as forkBody,
  gcBody,
  importRollouts,
} from '../../protocol/client.ts';
import { batchCommand } from '../../protocol/commands.ts';
import { taskExcerpt } from '../../protocol/taskExcerpt.ts';
import { checkEvent, type TraceEvent } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { callerOf } from '../access/caller.ts';
import { servicesFor } from '../access/guard.ts';
import { requireRight } from '../access/rights.ts';
import { fileBytes } from '../batches/attached.ts';
import { createBatch, recordOf, requireFiles } from '../batches/create.ts';
import { forkRollout } from '../batches/forks.ts';
import { checkRolloutId } from '../batches/ids.ts';
import { commandBatch } from '../commands/batchCommand.ts';
import { type Call, limitQuery, param, readJson, wholeQuery } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

const BATCHES = { usual: 50, most: 500 };
const TASKS = { usual: 200, most: 1_000 };
/** Whole tasks in memory while their excerpts are made. */
const EXCERPTED_AT_ONCE = 50;
const excerptBounds = { least: 1, most: 100_000 };
const ROLLOUTS = { usual: 200, most: 1_000 };
const attemptBounds = { least: 1, most: Number.MAX_SAFE_INTEGER };

export function batchRoutes(services: Services): RouteHandler[] {
  const { store } = services;
  return [
    {
      method: 'POST',
      path: '/v1/batches',
      handle: async (call) => {
        const body = await readJson(call, createBatchBody);
        call.about.batch = body.batch;
        return (await createBatch(servicesFor(services, call), body)).row;
      },
    },
    {
      method: 'GET',
      path: '/v1/batches',
      handle: (call) => {
        const { user, all } = callerOf(call.identity);
        return store.batches({
          limit: limitQuery(call, BATCHES.usual, BATCHES.most),
          ...text(call, 'before'),
          ...(all || user === undefined ? {} : { reader: user }),
        });
      },
    },
    {
      method: 'GET',
      path: '/v1/batches/:batch',
      handle: async (call) => (await recordOf(services, param(call, 'batch'))).row,
    },
    { method: 'POST', path: '/v1/batches/:batch/tasks', handle: (call) => addTasks(services, call) },
    { method: 'GET', path: '/v1/batches/:batch/tasks', handle: (call) => tasks(services, call) },
    { method: 'GET', path: '/v1/batches/:batch/rollouts', handle: (call) => rollouts(services, call) },
    {
      method: 'POST',
      path: '/v1/batches/:batch/import',
      handle: (call) => importFinished(services, call),
    },
    {
      method: 'POST',
      path: '/v1/batches/:batch/commands',
      handle: async (call) => {
        const command = await readJson(call, batchCommand);
        call.about.what = command.verb;
        if (command.verb === 'rescore' && call.identity?.kind === 'client') requireRight(call.identity, 'launch');
        return commandBatch(servicesFor(services, call), param(call, 'batch'), command);
      },
    },
    {
      method: 'POST',
      path: '/v1/batches/:batch/worker_token',
      handle: async (call) => ({
        token: services.tokens.enrollment((await recordOf(services, param(call, 'batch'))).row.batch),
      }),
    },
    {
      method: 'POST',
      path: '/v1/forks',
      handle: async (call) => {
        const body = await readJson(call, forkBody);
        Object.assign(call.about, { batch: body.batch, detail: `${body.rollout}@${body.seq}` });
        return forkRollout(servicesFor(services, call), body);
      },
    },
    { method: 'POST', path: '/v1/gc', handle: (call) => gc(services, call) },
  ];
}

async function addTasks(services: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'batch');
  const { from, tasks: added, rates } = await readJson(call, appendTasks);
  const { spec, row } = await recordOf(services, batch);
  await requireFiles(servicesFor(services, call), added);
  if (!row.imported && fileBytes(added) > 0) {
    const attached = { files: fileBytes(added), state: 0 };
    const open = row.counts.queued + row.counts.running + row.counts.held + added.length * row.attempts;
    await services.checkNeeds(await services.submissions.get(spec.submission), { attached, open, sealed: false });
  }
  await services.store.addTasks(batch, from, added, rates);
  services.leasing.check(batch, true);
  return {};
}

async function tasks(services: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'batch');
  await recordOf(services, batch);
  const from = wholeQuery(call, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER });
  const limit = limitQuery(call, TASKS.usual, TASKS.most);
  const excerpt = wholeQuery(call, 'excerpt', excerptBounds);
  const page = (after: number | undefined, size: number) =>
    services.store.tasks(batch, { limit: size, ...(after === undefined ? {} : { after }) });
  if (excerpt === undefined) return page(from, limit);
  const excerpts: TaskRecord[] = [];
  let next = from;
  do {
    const some = await page(next, Math.min(EXCERPTED_AT_ONCE, limit - excerpts.length));
    for (const task of some.tasks) excerpts.push(taskExcerpt(task, excerpt));
    next = some.next;
  } while (next !== undefined && excerpts.length < limit);
  return { tasks: excerpts, ...(next === undefined ? {} : { next }) };
}

async function rollouts(services: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'batch');
  await recordOf(services, batch);
  const attempt = wholeQuery(call, 'attempt', attemptBounds);
  return services.store.rollouts(batch, {
    limit: limitQuery(call, ROLLOUTS.usual, ROLLOUTS.most),
    ...text(call, 'after'),
    ...text(call, 'task'),
    ...(attempt === undefined ? {} : { attempt }),
    ...(call.query.get('all') === '1' ? { all: true } : {}),
  });
}

async function importFinished(services: Services, call: Call): Promise<unknown> {
  const batch = param(call, 'batch');
  const { rollouts } = await readJson(call, importRollouts);
  await services.store.importRollouts(
    batch,
    rollouts.map(({ from, events, ...rest }) => {
      checkRolloutId(rest.rollout);
      return {
        ...rest,
        events: events.map((event, index) => importedEvent(event, rest.rollout, (from ?? 1) + index)),
        ...(from === undefined ? {} : { from }),
      };
    }),
  );
  return {};
}

function importedEvent(event: unknown, rollout: string, seq: number): TraceEvent {
  const check = checkEvent(event);
  if (!check.ok)
    throw new StudioError('usage', `Event ${seq} of ${rollout} is not valid: ${check.path}: ${check.message}.`);
  const checked = event as TraceEvent; // checked
  if (checked.seq !== seq)
    throw new StudioError('usage', `Expected event ${seq} of ${rollout}, but found event ${checked.seq}.`);
  return checked;
}

async function gc(services: Services, call: Call): Promise<unknown> {
  const body = await readJson(call, gcBody);
  if (body.rules === true && services.retention !== undefined) {
    const result = await services.retention.apply(body.dry_run);
    call.about.detail = collected(body.dry_run, result);
    return result;
  }
  const { user } = callerOf(call.identity);
  const done = await services.store.gc({
    dryRun: body.dry_run,
    ...(body.trim === true ? { trim: () => (user === undefined ? {} : { by: user }) } : {}),
    ...(body.older_than_ms === undefined ? {} : { olderThanMs: body.older_than_ms }),
    ...(body.batches === undefined ? {} : { batches: body.batches }),
  });
  call.about.detail = collected(body.dry_run, done);
  if (!body.dry_run) for (const batch of done.batches) await services.secrets.remove(batch);
  return done;
}

function collected(isDry: boolean, { batches, trimmed }: Pick<GcResult, 'batches' | 'trimmed'>): string {
  const names = [...batches, ...trimmed.map((batch) => `${batch} (trajectories)`)];
  return `${isDry ? 'dry run: ' : ''}${names.join(', ')}`;
}

/** Returns an optional text parameter of the query string. */
function text<K extends string>(call: Call, name: K): { [P in K]?: string } {
  const value = call.query.get(name);
  return (value === null ? {} : { [name]: value }) as { [P in K]?: string }; // the computed key is `name`
}
