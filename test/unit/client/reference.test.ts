import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  batchId,
  comparePlaceOf,
  isReference,
  parseReference,
  placeOf,
  taskOf,
} from '../../../src/client/reference.ts';
import { StudioError } from '../../../src/common/errors.ts';
import type { Api } from '../../../src/protocol/api.ts';

const BATCH = 'b01m7yt5zts9x3a954';
const ROLLOUT = 'r01m7yt5ydbtvw51dr';

describe('references', () => {
  it('read a batch, and `last` as the newest', () => {
    assert.deepEqual(parseReference(BATCH), { kind: 'batch', batch: BATCH });
    assert.deepEqual(parseReference('last'), { kind: 'batch', batch: 'last' });
  });

  it('read a rollout followed by a step or a seq', () => {
    assert.deepEqual(parseReference(ROLLOUT), { kind: 'rollout', rollout: ROLLOUT, point: {} });
    assert.deepEqual(parseReference(`${ROLLOUT}:12`), { kind: 'rollout', rollout: ROLLOUT, point: { step: 12 } });
    assert.deepEqual(parseReference(`${ROLLOUT}@340`), { kind: 'rollout', rollout: ROLLOUT, point: { seq: 340 } });
  });

  it('read an attempt of a task whose ID contains slashes, colons, and at signs', () => {
    assert.deepEqual(parseReference(`${BATCH}/a/b:c@d/3:4`), {
      kind: 'attempt',
      batch: BATCH,
      task: 'a/b:c@d',
      attempt: 3,
      point: { step: 4 },
    });
    assert.deepEqual(parseReference('last/#12/1'), {
      kind: 'attempt',
      batch: 'last',
      task: '#12',
      attempt: 1,
      point: {},
    });
    assert.deepEqual(parseReference('last/t@1/2@9'), {
      kind: 'attempt',
      batch: 'last',
      task: 't@1',
      attempt: 2,
      point: { seq: 9 },
    });
  });

  for (const text of [
    '',
    'nothing',
    `${BATCH}:3`,
    `${BATCH}/task`,
    `${BATCH}/task/x`,
    `${ROLLOUT}:`,
    `${ROLLOUT}:1@2`,
  ]) {
    it(`refuse “${text}” and explain the format`, () => {
      assert.throws(
        () => parseReference(text),
        (error: unknown) => StudioError.is(error, 'usage') && /BATCH\/TASK\/ATTEMPT/.test(error.hint ?? ''),
      );
    });
  }
});

describe('the page of a reference', () => {
  const row = (id: string, settles: boolean) => ({ rollout: id, settles });
  // Only the responses that these tests need.
  const api = {
    batches: () => Promise.resolve({ batches: [{ batch: BATCH }] }),
    rollouts: () => Promise.resolve({ rollouts: [row('r1', true), row('r2', false)] }),
  } as unknown as Api;
  const signal = new AbortController().signal;

  it('is the newest batch, a rollout at its point, or the rollout that settled an attempt', async () => {
    assert.deepEqual(await placeOf(api, 'last', signal), { page: 'batch', batch: BATCH });
    assert.deepEqual(await placeOf(api, `${ROLLOUT}:3`, signal), { page: 'trajectory', rollout: ROLLOUT, step: 3 });
    assert.deepEqual(await placeOf(api, `last/t1/2@7`, signal), { page: 'trajectory', rollout: 'r1', seq: 7 });
  });

  it('is never a debug run, except for a debugger', async () => {
    const batches = [
      { batch: 'b3', debug: true, state: 'running' },
      { batch: 'b2', debug: true, state: 'ended' },
      { batch: 'b1', state: 'ended' },
    ];
    // Pages of one batch.
    const paged = {
      batches: ({ before }: { before?: string }) => {
        const at = before === undefined ? 0 : batches.findIndex(({ batch }) => batch === before) + 1;
        return Promise.resolve({ batches: batches.slice(at, at + 1), next: batches[at]?.batch });
      },
    } as unknown as Api;
    assert.equal(await batchId(paged, 'last', signal), 'b1');
    assert.equal(await batchId(paged, 'last', signal, true), 'b3');
  });

  it('is the comparison of a task, whose id may look like an attempt', async () => {
    assert.deepEqual(await comparePlaceOf(api, 'last/a/b/3', signal), { page: 'compare', batch: BATCH, task: 'a/b/3' });
    await assert.rejects(
      comparePlaceOf(api, BATCH, signal),
      (error: unknown) => StudioError.is(error, 'usage') && /BATCH\/TASK/.test(error.hint ?? ''),
    );
    const empty = { rollouts: () => Promise.resolve({ rollouts: [] }) } as unknown as Api;
    await assert.rejects(
      comparePlaceOf(empty, `${BATCH}/none`, signal),
      (error: unknown) => StudioError.is(error, 'not_found') && /“none”/.test(error.message),
    );
    for (const text of ['', 'last', `${BATCH}/`, '/t', `${ROLLOUT}/t`, 'files/t'])
      assert.equal(taskOf(text), undefined, text);
  });

  it('is distinguished from a file name by its beginning', () => {
    for (const text of ['last', 'last/t/1', BATCH, `${BATCH}/t/1`, `${ROLLOUT}:3`, `${ROLLOUT}@3`])
      assert.equal(isReference(text), true, text);
    for (const text of ['', 'results.json', './last', 'data/t/1', 'b1', 'lasting'])
      assert.equal(isReference(text), false, text);
  });
});
