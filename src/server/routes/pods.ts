/** Routes for the pods of a batch, or its worker processes, and their logs. */
import { once } from 'node:events';
import { errorText, StudioError } from '../../common/errors.ts';
import { type Redactor, redactor } from '../../common/redaction/redactor.ts';
import { RedactedStream } from '../../common/redaction/stream.ts';
import { hiddenValues } from '../../config/env.ts';
import { LOG_TAIL, type PodInfo, type PodList, workerProcess } from '../../protocol/pods.ts';
import type { BatchRecord } from '../../store/store.ts';
import { recordOf } from '../batches/create.ts';
import { type Call, param, wholeQuery } from '../http/call.ts';
import { sendError } from '../http/reply.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

export function podRoutes(services: Services): RouteHandler[] {
  return [
    { method: 'GET', path: '/v1/batches/:batch/pods', handle: (call) => pods(services, call) },
    { method: 'GET', path: '/v1/batches/:batch/pods/:pod/log', handle: (call) => log(services, call) },
  ];
}

async function pods(services: Services, call: Call): Promise<PodList> {
  const record = await recordOf(services, param(call, 'batch'));
  const { batch, state } = record.row;
  const executor = services.workerPods();
  const [found, held, sessions] = await Promise.all([
    executor?.pods?.(batch, call.signal) ?? [],
    services.store.leasedRollouts(batch),
    services.store.sessions({ batch }),
  ]);
  const names = new Set(found.map(({ name }) => name));
  // Those of an executor of another server, or that connected on their own.
  const others = sessions.map(({ worker }) => worker).filter((worker) => !names.has(worker));
  const all = [...found, ...[...new Set(others)].map((worker) => workerProcess(worker, false))];
  const list = all.map(
    (pod): PodInfo => ({
      ...pod,
      rollouts: held
        .filter(({ worker }) => worker === pod.name)
        .map(({ rollout, task, attempt, state: of }) => ({ rollout, task, attempt, held: of === 'held' })),
    }),
  );
  const text =
    list.length > 0
      ? undefined
      : executor === undefined
        ? 'This server starts no workers: they connect on their own, and none is connected.'
        : state === 'ended'
          ? 'The batch has ended, and so have its workers.'
          : 'No worker runs for this batch now.';
  return services.secrets.clean(batch, { pods: list, ...(text === undefined ? {} : { text }) });
}

async function log(services: Services, call: Call): Promise<undefined> {
  const record = await recordOf(services, param(call, 'batch'));
  const pod = param(call, 'pod');
  const read = services.workerPods()?.podLog?.bind(services.workerPods());
  if (read === undefined)
    throw new StudioError('not_found', `This server did not start ${pod}, so it has no log of it.`);
  const container = call.query.get('container') ?? undefined;
  const tail = wholeQuery(call, 'tail', { least: 0, most: LOG_TAIL.most }) ?? LOG_TAIL.usual;
  const follow = call.query.get('follow') === '1';
  const hidden = new RedactedStream(await hiddenOf(services, record));
  const { response, signal } = call;
  const start = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
  };
  const send = async (text: string): Promise<void> => {
    start();
    if (text !== '' && !response.write(text)) await once(response, 'drain', { signal });
  };
  try {
    for await (const piece of read(record.row.batch, pod, { container, tail, follow }, signal))
      await send(hidden.add(piece));
    await send(hidden.end());
    response.end();
  } catch (error) {
    if (signal.aborted) return undefined;
    services.log(`the log of ${pod} could not be read: ${errorText(error)}`, {
      level: 'warning',
      batch: record.row.batch,
    });
    sendError(response, error);
  }
  return undefined;
}

/** Returns what hides the values of a batch. Throws `gone` if nobody knows them any more. */
async function hiddenOf({ secrets, submissions, workerPods }: Services, { row, spec }: BatchRecord): Promise<Redactor> {
  const known = secrets.redactor(row.batch);
  if (known !== undefined) return known;
  const { env } = await submissions.get(spec.submission);
  const values =
    env.names.length === 0 ? {} : ((await secrets.get(row.batch)) ?? (await workerPods()?.secrets(row.batch)));
  if (values === undefined)
    throw new StudioError('gone', 'The values of `${env:…}` of this batch are gone, so its logs cannot hide them.', {
      hint: 'Read logs while the batch runs.',
    });
  return redactor(hiddenValues(env.shown, values));
}
