/** A batch that waits for a trainer, on a real server with a real worker. */
import { newId } from '../../../src/common/ids.ts';
import { canonicalJson } from '../../../src/common/json.ts';
import { submissionSha } from '../../../src/config/submission.ts';
import type { NewBatchBody } from '../../../src/protocol/client.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { plainSubmission, type TestServer } from '../../support/rolloutServer.ts';

/** Options of the server: it waits for a trainer that takes its time to load. */
export const PATIENT = ['--executor', 'none', '--idle-seconds', '3600'];

export type Group = NonNullable<NewBatchBody['group']>;

/** Opens it for the tasks of a scripted endpoint. Returns its ID. */
export async function openBatch(
  server: TestServer,
  endpoint: string,
  tasks: readonly TaskRecord[],
  group: Group,
): Promise<string> {
  const plain = plainSubmission({ retry: { infrastructure: 3 }, scorer: { kind: 'contains', ignore_case: true } });
  const submission = {
    ...plain,
    agent: {
      ...plain.agent,
      model: {
        ...plain.agent.model,
        endpoints: [endpoint],
        capture: { token_ids: true, logprobs: true },
        endpoint_wait_seconds: 1,
      },
      tools: [{ kind: 'builtin' as const, name: 'calculator' as const }],
    },
  };
  const sha = submissionSha(submission);
  await server.api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
  const batch = newId('b');
  await server.api.createBatch({ batch, submission: sha, open: true, tasks: [...tasks], group });
  return batch;
}

/** What bridges read to find the batch. */
export function bridgeEnvironment(server: TestServer, batch: string): Record<string, string> {
  return { ROLLOUT_SERVER: server.url, ROLLOUT_TOKEN: server.file.token, ROLLOUT_BATCH: batch };
}
