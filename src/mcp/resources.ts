/** Exposes resources: `rollout://BATCH`, `rollout://ROLLOUT`, and `rollout://BATCH/TASK/ATTEMPT`. */

import {
  type McpServer,
  type ReadResourceResult,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { batchId, parseReference } from '../client/reference.ts';
import { plural } from '../common/text.ts';
import type { Api } from '../protocol/api.ts';
import { attemptCount } from '../trace/outcome.ts';
import { type FoundAttempt, findAttempt } from './reading/attempt.ts';
import type { Session } from './session.ts';
import { readPage } from './tools/readTrajectory.ts';
import { batchAnswer } from './tools/showBatch.ts';

const MAX_LISTED = 50;
const MIME = 'text/plain';

export function registerResources(server: McpServer, session: Session): void {
  const complete = (value: string): Promise<string[]> => batchesLike(session, value);
  server.registerResource(
    'batch or rollout',
    new ResourceTemplate('rollout://{id}', {
      list: async ({ mcpReq }) => {
        const { api } = await session.connection(mcpReq.signal);
        const { batches } = await api.batches({ limit: MAX_LISTED }, mcpReq.signal);
        return {
          resources: batches.map((row) => ({
            uri: `rollout://${row.batch}`,
            name: row.name,
            mimeType: MIME,
            description:
              `Batch ${row.batch}, ${row.state}: ` +
              `${row.counts.passed} of ${plural(attemptCount(row), 'attempt')} passed`,
          })),
        };
      },
      complete: { id: complete },
    }),
    {
      title: 'Batch report or rollout trajectory',
      description: 'Identified by the ID of a batch or rollout; `last` is the newest batch. Lists the newest batches.',
      mimeType: MIME,
    },
    (uri, { id }, context) => read(session, uri, one(id), context),
  );
  server.registerResource(
    'attempt',
    new ResourceTemplate('rollout://{batch}/{task}/{attempt}', { list: undefined, complete: { batch: complete } }),
    {
      title: 'Attempt trajectory',
      description: 'The trajectory of an attempt. Percent-encode special characters in the task ID.',
      mimeType: MIME,
    },
    (uri, { batch, task, attempt }, context) =>
      read(session, uri, `${one(batch)}/${one(task)}/${one(attempt)}`, context),
  );
}

async function read(
  session: Session,
  uri: URL,
  reference: string,
  { mcpReq: { signal } }: ServerContext,
): Promise<ReadResourceResult> {
  const { api } = await session.connection(signal);
  const parsed = parseReference(reference);
  const text =
    parsed.kind === 'batch'
      ? (await batchAnswer(api, await batchId(api, parsed.batch, signal), [], signal)).text
      : await trajectoryStart(await findAttempt(reference, { api, signal }), session, api, signal);
  return { contents: [{ uri: uri.href, mimeType: MIME, text }] };
}

async function trajectoryStart(
  { info, rollout, reference }: FoundAttempt,
  { trajectories }: Session,
  api: Api,
  signal: AbortSignal,
): Promise<string> {
  const parts = trajectories.openSteps(api, info, 0, signal);
  const { text, next } = await readPage(parts, rollout, { last: Infinity, full: false }, { step: -1, offset: 0 });
  return next === undefined
    ? text
    : `${text}\n… continue with read_trajectory ${reference} and from_step ${Math.max(0, next.step)}.\n`;
}

/** Returns the IDs of batches with this prefix. */
export async function batchesLike(session: Session, value: string): Promise<string[]> {
  const { api } = await session.connection();
  const { batches } = await api.batches({ limit: MAX_LISTED });
  return ['last', ...batches.map(({ batch }) => batch)].filter((id) => id.startsWith(value));
}

function one(variable: string | string[] | undefined): string {
  return decodeURIComponent(Array.isArray(variable) ? variable.join('/') : (variable ?? ''));
}
