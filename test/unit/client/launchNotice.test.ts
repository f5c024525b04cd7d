import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { launchNotice, retryNotice } from '../../../src/client/launchNotice.ts';
import { StudioError } from '../../../src/common/errors.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import type { ShareRow, SharesReply } from '../../../src/protocol/shares.ts';
import { plainSubmission } from '../../support/rolloutServer.ts';

const ann: ShareRow = {
  ...{ kind: 'user', name: 'ann', weight: 1, entitled: 0, used: 0, batches: 0, gpu_hours: 0, cpu_hours: 0 },
  ...{ rollouts: { running: 45, held: 0, queued: 0, limit: 50 }, pods: { running: 0 }, tokens: { hour: 0 } },
};
const shares: SharesReply = { rows: [ann], waiting: [], queues: [], own: { kind: 'user', name: 'ann' } };
const read = (): Promise<SharesReply> => Promise.resolve(shares);
const older = (): Promise<SharesReply> => Promise.reject(new StudioError('not_found', 'Not found.'));

describe('what a batch will not get now', () => {
  test('is said before a launch, and counts attempts only then', async () => {
    const submission = plainSubmission({ concurrency: 'auto' });
    const attempts = (): Promise<number> => Promise.resolve(8);
    assert.equal(
      await launchNotice({ shares: read }, submission, attempts),
      "ann: 45 of 50 rollouts run; 5 of this batch's 8 start now.",
    );
    assert.equal(await launchNotice({ shares: read }, { ...submission, concurrency: 4 }, attempts), undefined);
    const never = (): Promise<number> => assert.fail('the attempts were counted');
    assert.equal(await launchNotice({ shares: older }, submission, never), undefined);
    const invalid = (): Promise<number> => Promise.reject(new StudioError('config', 'Line 3 is no JSON.'));
    await assert.rejects(launchNotice({ shares: read }, submission, invalid), /Line 3/);
  });

  test('is said after a retry, by the attempts that it queued', async () => {
    const submission = new TextEncoder().encode(JSON.stringify(plainSubmission({ concurrency: 'auto' })));
    const api = (more: { shares?: typeof read; imported?: boolean } = {}): Parameters<typeof retryNotice>[0] => ({
      shares: more.shares ?? read,
      batch: (batch) => Promise.resolve({ batch, submission: 'sha', imported: more.imported === true } as BatchRow),
      getBlob: () => Promise.resolve(submission),
    });
    const notice = await retryNotice(api(), 'b1');
    assert.deepEqual([0, 5, 6].map(notice), [
      undefined,
      undefined,
      "ann: 45 of 50 rollouts run; 5 of this batch's 6 start now.",
    ]);
    assert.equal((await retryNotice(api({ shares: older }), 'b1'))(6), undefined);
    assert.equal((await retryNotice(api({ imported: true }), 'b1'))(6), undefined);
  });
});
