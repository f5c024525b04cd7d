import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readRetentionFile } from '../../../src/cli/optionFile.ts';
import { errorText } from '../../../src/common/errors.ts';
import { parseSize, retentionFile } from '../../../src/config/schema/retentionFile.ts';
import { matchesName } from '../../../src/store/logic/retention.ts';

describe('the file of --retention', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-retention-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const read = async (text: string) => {
    await writeFile(path.join(folder, 'retention.yaml'), text);
    return readRetentionFile(folder, 'retention.yaml');
  };

  it('is read with its units, and is the same when it is read again', async () => {
    const rules = await read(
      'version: 1\nrules:\n  - { labeled: true, keep: forever }\n  - { name: "try-*", age: 2 days, delete: true }\n' +
        '  - { keep: 180d, keep_trajectories: 30 days }\n' +
        'max_bytes: 200Gi\n',
    );
    assert.deepEqual(rules, {
      version: 1,
      rules: [
        { labeled: true, keep: 'forever' },
        { name: 'try-*', age: 172_800, delete: true },
        { keep: 15_552_000, keep_trajectories: 2_592_000 },
      ],
      max_bytes: 200 * 1024 ** 3,
    });
    assert.deepEqual(retentionFile.parse(JSON.parse(JSON.stringify(rules))), rules);
  });

  it('says what is wrong, and where', async () => {
    for (const [text, expected] of [
      ['version: 1\nrules:\n  - { age: soon, delete: true }\n', /retention\.yaml:3:12: .*duration/],
      [
        'version: 1\nrules:\n  - { age: 3d }\n',
        /retention\.yaml:3:.*needs `keep`, `keep_trajectories`, or `delete: true`/,
      ],
      ['version: 1\nrules:\n  - { delete: true }\n', /retention\.yaml:3:.*remove every batch as soon as it ends/],
      ['version: 1\nrules:\n  - { keep: 0 }\n', /retention\.yaml:3:13: .*forever, or a duration/],
      ['version: 1\nrules:\n  - { keep: 30d, keep_trajectories: soon }\n', /retention\.yaml:3:37: .*duration/],
      ['version: 1\nrules:\n  - { keep: always }\n', /retention\.yaml:3:\d+: .*forever, or a duration: 180d, 12h/],
      [
        'version: 1\nrules:\n  - { keep: 30d, keep_trajectories: 60d }\n',
        /retention\.yaml:3:37: .*at most as long as their batch.*shorter than `keep`/s,
      ],
      [
        'version: 1\nrules:\n  - { age: 90d, keep_trajectories: 30d }\n',
        /retention\.yaml:3:12: .*counts from the end of a batch.*Remove `age`/s,
      ],
      [
        'version: 1\nrules:\n  - { age: 90d, delete: true, keep_trajectories: 30d }\n',
        /retention\.yaml:3:\d+: .*keeps no trajectories.*`keep` with a duration/s,
      ],
      [
        'version: 1\nrules:\n  - { age: 90d, keep: 30d, delete: true }\n',
        /retention\.yaml:3:\d+: .*either `keep` or `delete: true`/,
      ],
      ['version: 1\nrules:\n  - { ages: 3d, delete: true }\n', /retention\.yaml:3:7: .*ages.*age/s],
      ['version: 1\nmax_bytes: much\n', /retention\.yaml:2:12: .*size/],
      ['rules: []\n', /version/],
    ] as const)
      await assert.rejects(read(text), (error) => {
        assert.match(errorText(error), expected);
        return true;
      });
    await assert.rejects(readRetentionFile(folder, 'none.yaml'), /Cannot read none\.yaml/);
  });

  it('knows sizes and names', () => {
    assert.deepEqual(['1', '2k', '1.5Mi', '3 GB', '1TiB', 'x', '0', '-1', ''].map(parseSize), [
      1,
      2000,
      1_572_864,
      3e9,
      1024 ** 4,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    for (const [name, pattern, fits] of [
      ['nightly', 'nightly', true],
      ['nightly-7', 'nightly', false],
      ['nightly-7', 'nightly-*', true],
      ['a.b', 'a?b', false],
      ['aXbYb', 'a*b*b', true],
      ['ab', 'ab*b', false],
      ['ab', '*', true],
    ] as const)
      assert.equal(matchesName(name, pattern), fits, `${name} ${pattern}`);
  });
});
