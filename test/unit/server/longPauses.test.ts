/** What the record of a batch says about pauses that do not end: it decides whose time axis has a mark. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LongPauses } from '../../../src/server/endpoints/longPauses.ts';
import type { EndpointRecord } from '../../../src/store/endpointStore.ts';
import type { Store } from '../../../src/store/store.ts';

const SERVICE = 'http://models:8000/v1';
const SERVER = 'http://gpu-1:8000/v1';
const REPLICA = { name: 'vllm-1', url: 'http://10.0.0.1:8000/v1' };

function record(endpoint: string, replica?: EndpointRecord['replica']): EndpointRecord {
  return {
    endpoint,
    ...(replica === undefined ? {} : { replica }),
    ...{ paused: true, mode: 'wait', versionRev: 0, by: 'trainer', since: 0, limitMs: 1_000, reported: false, rev: 1 },
  };
}

test('long pauses concern the calls to all replicas of a service, to one of them, or to one server', async () => {
  const added: unknown[] = [];
  const done = Promise.withResolvers<undefined>();
  const store = {
    endpoints: { markReported: () => Promise.resolve(true) },
    addBatchEvent: (batch: string, _: string, { text, ...about }: { readonly text: string }) => {
      assert.match(text, /has been paused by trainer/);
      if (added.push([batch, about]) === 3) done.resolve(undefined);
      return Promise.resolve();
    },
  } as unknown as Pick<Store, 'endpoints' | 'addBatchEvent'>;
  const pauses = new LongPauses({
    store,
    batchesOf: () => ['b1'],
    hasReplicas: (endpoint) => endpoint === SERVICE,
    log: () => assert.fail('nothing fails'),
  });
  pauses.watch([record(SERVICE), record(SERVICE, REPLICA), record(SERVER)]);
  await done.promise;
  pauses.close();
  assert.deepEqual(added, [
    ['b1', { what: 'endpoint', endpoint: SERVICE, all_replicas: true }],
    ['b1', { what: 'endpoint', endpoint: REPLICA.url }],
    ['b1', { what: 'endpoint', endpoint: SERVER }],
  ]);
});
