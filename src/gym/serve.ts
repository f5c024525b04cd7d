/** `rollout gym`: a batch that serves NeMo Gym rollouts, and environments of its tasks, on a port of its own. */
import { launch } from '../client/launch.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import { redactor } from '../common/redaction/redactor.ts';
import { resolveSubmission } from '../config/env.ts';
import type { BuiltSubmission } from '../config/submit.ts';
import type { AskLive } from '../rerun/drive/drive.ts';
import type { TaskRecord } from '../trace/task.ts';
import { aggregateMetrics } from './metrics.ts';
import { GroupFeed } from './run/feed.ts';
import { Reconnecting, type ServerLink } from './run/reconnecting.ts';
import { Runs } from './run/runs.ts';
import { listen, type Route } from './server.ts';
import { Environments } from './sessions/environments.ts';
import { aggregateMetricsRequest, gymRow, seedSession, toolArguments, verifySession } from './shapes.ts';

export interface GymOptions {
  readonly server: ServerLink;
  readonly built: BuiltSubmission;
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
  /** The longest time of an attempt, from its request to its end, in seconds. */
  readonly deadlineSeconds?: number | undefined;
  /** A session ends after this time without calls. */
  readonly idleSeconds: number;
  /** Answers the questions of worlds, tools, and scorers of sessions to models. */
  readonly ask: AskLive;
  /** Folders that programs of sessions never see. */
  readonly hidden: readonly string[];
  /** Called when it listens. */
  readonly announce: (serving: { readonly url: string; readonly batch: string }) => void;
  readonly log: (text: string) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Time to seal the batch. */
const SEAL_MS = 10_000;

/** Serves until the signal aborts, and seals the batch then. Throws StudioError if it cannot begin. */
export async function serveGym(options: GymOptions): Promise<void> {
  const { server: link, built, host, port, deadlineSeconds, signal } = options;
  const hiding = redactor(Object.values(built.secrets));
  const log = (text: string): void => {
    if (text !== '') options.log(hiding.text(text));
  };
  const server = new Reconnecting(link, log);
  const dataset = new Map<string, TaskRecord>();
  for await (const task of built.tasks) dataset.set(task.id, task);
  const group = { size: 1, ...(deadlineSeconds === undefined ? {} : { deadline_s: deadlineSeconds }) };
  const batch = await launch(link.api, { ...built, group }, { signal });
  const ending = new AbortController();
  const feed = new GroupFeed(server, batch);
  feed.start(ending.signal);
  const runs = new Runs({ server, feed, batch, dataset, log, signal: ending.signal });
  const environments = new Environments({
    submission: resolveSubmission(built.submission, built.secrets),
    taskOf: (id) => taskIn(dataset, id),
    readBlob: (sha, own) => {
      const stop = own === undefined ? ending.signal : AbortSignal.any([own, ending.signal]);
      return server.run((api) => api.getBlob(sha, stop), stop);
    },
    ask: options.ask,
    hidden: options.hidden,
    idleMs: options.idleSeconds * 1000,
    log,
  });
  try {
    const serving = await listen({ host, port }, routesOf(batch, runs, environments), log);
    try {
      options.announce({ url: serving.url, batch });
      await aborted(signal);
    } finally {
      ending.abort(new StudioError('unavailable', 'rollout gym ends.'));
      await serving.close();
    }
  } finally {
    ending.abort(new StudioError('unavailable', 'rollout gym ends.'));
    await environments.close();
    await link.api
      .commandBatch(batch, { command: newId('c'), verb: 'seal' }, AbortSignal.timeout(SEAL_MS))
      .catch((error: unknown) => log(`cannot seal ${batch}: ${errorText(error)}`));
  }
}

function routesOf(batch: string, runs: Runs, environments: Environments): Route[] {
  return [
    {
      method: 'GET',
      path: /^\/$/,
      answer: () => Promise.resolve({ body: { batch, running: runs.size, sessions: environments.size } }),
    },
    {
      method: 'POST',
      path: /^\/run$/,
      answer: async ({ read, signal }) => runs.run(await read(gymRow), signal),
    },
    {
      method: 'POST',
      path: /^\/aggregate_metrics$/,
      answer: async ({ read }) => ({ body: aggregateMetrics((await read(aggregateMetricsRequest)).verify_responses) }),
    },
    {
      method: 'POST',
      path: /^\/seed_session$/,
      answer: async ({ read, signal }) => {
        const session = await environments.seed(await read(seedSession), signal);
        if (signal.aborted) await environments.end(session.id); // nobody knows its ID
        return { body: session.seeded };
      },
    },
    {
      method: 'POST',
      path: /^\/sessions\/([^/]+)\/tools\/([^/]+)$/,
      answer: async ({ params: [id = '', tool = ''], read }) => {
        const args = await read(toolArguments);
        return { body: await environments.use(id, (session) => session.call(tool, args)) };
      },
    },
    {
      method: 'POST',
      path: /^\/sessions\/([^/]+)\/verify$/,
      answer: async ({ params: [id = ''], read }) => {
        const request = await read(verifySession);
        return { body: await environments.use(id, (session) => session.verify(request)) };
      },
    },
    {
      method: 'DELETE',
      path: /^\/sessions\/([^/]+)$/,
      answer: async ({ params: [id = ''] }) => {
        await environments.end(id);
        return { body: { session_id: id, ended: true } };
      },
    },
  ];
}

function taskIn(dataset: ReadonlyMap<string, TaskRecord>, id: string): Promise<TaskRecord> {
  const task = dataset.get(id);
  if (task !== undefined) return Promise.resolve(task);
  return Promise.reject(
    new StudioError('not_found', `The dataset has no task ${id.slice(0, 200)}.`, {
      hint: `It has ${dataset.size} tasks, for example ${[...dataset.keys()].slice(0, 3).join(', ')}.`,
    }),
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
