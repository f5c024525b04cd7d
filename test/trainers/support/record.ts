/**
 * Records the batch behind the golden rows again, for formats that read something else than before:
 * `node test/trainers/support/record.ts`. It has right and wrong answers, a task whose calls begin new segments, and an
 * attempt that was lost. It needs no Python.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fetchTransport } from '../../../src/protocol/transport.ts';
import { GOLDEN_FOLDER, renderRows } from '../../support/goldenRows.ts';
import { type Recording, recording } from '../../support/recordedRequests.ts';
import { plainSubmission, TestStore } from '../../support/rolloutServer.ts';
import { TestWorker } from '../../support/workerProcess.ts';
import { sumQuestion, tokenEndpoint } from './tokenEndpoint.ts';

await using endpoint = await tokenEndpoint({ lost: [2] });
await using store = new TestStore();
const server = await store.start();
const plain = plainSubmission();
const batch = await server.submit(
  {
    ...plain,
    name: 'golden',
    attempts: 4,
    retry: { infrastructure: 0 },
    scorer: { kind: 'contains', ignore_case: true },
    agent: {
      ...plain.agent,
      model: {
        ...plain.agent.model,
        endpoints: [endpoint.url],
        capture: { token_ids: true, logprobs: true },
        endpoint_wait_seconds: 1,
      },
      tools: [{ kind: 'builtin', name: 'calculator' }],
    },
  },
  [
    { id: 'sum', question: sumQuestion(18, 25), answer: '43', meta: {} },
    { id: 'spaces', question: sumQuestion(3, 4, { spaces: true }), answer: '7', meta: {} },
  ],
);
const worker = await TestWorker.start(store, server, batch);
const ended = await worker.exited;
if (ended !== 0) throw new Error(`The worker ended with ${String(ended)}: ${worker.stderr}`);
const replies: Recording = { texts: {}, blobs: {} };
const address = { url: server.url, token: server.file.token };
const files = await renderRows(
  batch,
  recording(
    fetchTransport(() => address),
    replies,
  ),
);
writeFileSync(path.join(GOLDEN_FOLDER, 'recording.json'), `${JSON.stringify({ batch, ...replies }, null, 1)}\n`);
for (const [format, text] of files) writeFileSync(path.join(GOLDEN_FOLDER, `${format}.jsonl`), text);
console.log([...files].map(([format, text]) => `${format}: ${text.split('\n').length - 1} lines`).join('\n'));
