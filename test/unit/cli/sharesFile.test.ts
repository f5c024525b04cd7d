import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { readSharesFile } from '../../../src/cli/optionFile.ts';
import { sharesText } from '../../../src/client/text/sharesText.ts';
import { StudioError } from '../../../src/common/errors.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-shares-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function read(text: string): ReturnType<typeof readSharesFile> {
  writeFileSync(path.join(folder, 'shares.yaml'), text);
  return readSharesFile(folder, 'shares.yaml');
}

describe('the file of shares', () => {
  test('has weights and limits of users and queues', async () => {
    const file = await read(
      'users: { alice: { weight: 2, rollouts: 200, pods: 8, tokens_per_hour: 50M } }\n' +
        'default: { rollouts: 100 }\nqueues:\n  research: { weight: 0.5, users: [alice], local_queue: gpus }\n',
    );
    assert.deepEqual(file, {
      users: { alice: { weight: 2, rollouts: 200, pods: 8, tokens_per_hour: 50_000_000 } },
      default: { rollouts: 100 },
      queues: { research: { weight: 0.5, users: ['alice'], local_queue: 'gpus' } },
    });
  });

  test('is refused with the place of each problem', async () => {
    const error = await read('users:\n  alice:\n    wieght: 2\n  bob: { weight: 0 }\nqueues: { "a b": {} }\n').then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(StudioError.is(error, 'config'));
    const text = `${error.message} ${error.hint ?? ''}`;
    assert.match(text, /shares\.yaml:3:5.*wieght/s);
    assert.match(text, /did you mean `?weight/i);
    assert.match(text, /shares\.yaml:4:18/);
    assert.match(text, /shares\.yaml:5/);
    await assert.rejects(readSharesFile(folder, 'none.yaml'), (thrown) => StudioError.is(thrown, 'not_found'));
  });
});

test('shares are printed as tables', () => {
  const row = {
    ...{ weight: 2, entitled: 0.5, used: 0.25, batches: 1, gpu_hours: 12.34, cpu_hours: 0 },
    rollouts: { running: 180, held: 0, queued: 20, limit: 200 },
    pods: { running: 3 },
    tokens: { hour: 1_200_000, limit: 50_000_000 },
  };
  const text = sharesText({
    rows: [
      { kind: 'queue', name: 'research', ...row },
      { kind: 'user', name: '', ...row, entitled: 0, used: 0 },
    ],
    waiting: [{ batch: 'b1', why: 'share', position: 1, of: 2, text: 'Others use their shares.' }],
    queues: ['research'],
  });
  assert.match(text, /^queue +weight +share/m);
  assert.match(text, /^research +2 +50% +25% +1 +180 of 200 +20 +3 +1\.2M of 50\.0M +12\.3$/m);
  assert.match(text, /^\(client token\) +2 +1 /m);
  assert.match(text, /^b1 +1 of 2 +its share +Others use their shares\.$/m);
  assert.match(sharesText({ rows: [], waiting: [], queues: [] }), /^No batch waits\.$/);
});
