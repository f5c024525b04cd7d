// What a launch leaves behind when it is cancelled at the worst moment.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { launch } from '../../src/client/launch.ts';
import { StudioError } from '../../src/common/errors.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport, type Transport } from '../../src/protocol/transport.ts';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';

const store = new TestStore();
after(() => store[Symbol.asyncDispose]());

test('a batch whose launch is cancelled while it is created does not wait for tasks', {
  timeout: 60_000,
}, async () => {
  const server = await store.start();
  const wire = fetchTransport(() => ({ url: server.url, token: server.file.token }));
  const stop = new AbortController();
  // The server has created it and its response is in transit.
  const late: Transport = {
    request: async (request) => {
      const response = wire.request(request);
      if (request.method === 'POST' && request.path === '/v1/batches') {
        while ((await server.api.batches()).batches.length === 0) await new Promise(setImmediate);
        stop.abort();
      }
      return response;
    },
  };
  // More tasks than fit into the creating request: without the rest of them it would stay open.
  const launching = launch(
    new Api(late),
    { submission: plainSubmission(), secrets: {}, blobs: [], tasks: tasks(1_200) },
    { signal: stop.signal },
  );
  await assert.rejects(launching, (error) => StudioError.is(error, 'cancelled'));
  const [row] = (await server.api.batches()).batches;
  assert.equal(row?.state, 'ended');
  assert.equal(row.counts.cancelled, row.tasks * row.attempts);
});
