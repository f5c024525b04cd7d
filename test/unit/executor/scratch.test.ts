import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { largestDisk } from '../../../src/client/targets/nodeRoom.ts';
import { StudioError } from '../../../src/common/errors.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { toolResources, workLimit } from '../../../src/executor/kubernetes/podResources.ts';
import { ownLimit, requireRoom, scratchOf } from '../../../src/executor/kubernetes/scratch.ts';
import type { Node } from '../../../src/kubernetes/access/objects.ts';
import { Attachments } from '../../../src/server/batches/attached.ts';
import type { Store } from '../../../src/store/store.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { plainSubmission } from '../../support/rolloutServer.ts';

const MIB = 1024 * 1024;

function withTools(...tools: Submission['agent']['tools']): Submission {
  const plain = plainSubmission();
  return { ...plain, agent: { ...plain.agent, tools } };
}

describe('the disk of pods', () => {
  it('is the default for a batch that brings nothing along', () => {
    const scratch = scratchOf(plainSubmission());
    assert.deepEqual(toolResources({}, 8, scratch), toolResources({}, 8));
    assert.equal(workLimit({}, 8, scratch.work), '7Gi');
    assert.equal(workLimit({}, 8, scratch.other), '7Gi');
  });

  it('has room for the files of tasks and the databases of scenarios, for each concurrent rollout', () => {
    const scratch = scratchOf(plainSubmission(), { files: 512 * MIB, state: 128 * MIB });
    const { requests } = toolResources({}, 8, scratch);
    // 256 + 32 for each is the default; 512 of files and 2 x 128 of a database are there for sure.
    assert.equal(requests?.['ephemeral-storage'], `${256 + 8 * (32 + 512 + 256)}Mi`);
    // Twice the files, and four times the database.
    assert.equal(workLimit({}, 8, scratch.work), `${4096 + 8 * (384 + 1024 + 512)}Mi`.replace('19456Mi', '19Gi'));
    assert.equal(workLimit({}, 8, scratch.other), '7Gi');
  });

  it('has room for what programs of tools download', () => {
    const browser = scratchOf(withTools({ kind: 'builtin', name: 'browser' }));
    assert.deepEqual(browser.other, { base: 0, each: 512 });
    assert.equal(workLimit({}, 8, browser.other), '11Gi');
    const packages = scratchOf(
      withTools({
        kind: 'mcp',
        name: 'search',
        shared: false,
        server: { command: 'uvx', args: ['search-server'], env: {} },
      }),
    );
    assert.deepEqual(packages.other, { base: 4096, each: 64 });
    assert.deepEqual(packages.request, { base: 1024, each: 16 });
  });

  it('is what the batch says, which has to suffice for what it attaches', () => {
    const pods = { limits: { 'ephemeral-storage': '4Gi' } };
    const attached = { files: 900 * MIB, state: 0 };
    assert.equal(workLimit(pods, 8, scratchOf(plainSubmission(), attached).work), '4Gi');
    assert.equal(
      toolResources(pods, 8, scratchOf(plainSubmission(), attached)).requests?.['ephemeral-storage'],
      undefined,
    );
    requireRoom(plainSubmission(), attached, 4, ownLimit(pods.limits));
    requireRoom(plainSubmission(), attached, 400, ownLimit(undefined));
    assert.throws(
      () => requireRoom(plainSubmission(), attached, 8, ownLimit(pods.limits)),
      (error) =>
        StudioError.is(error, 'config') &&
        error.message ===
          'batches/plain.batch.yaml: pods need 7.5 GB of disk for files of a task (944 MB), for each of 8 concurrent ' +
            'rollouts in a pod, but `pods.limits` allows an ephemeral-storage of 4Gi, which is 4.3 GB.' &&
        error.hint ===
          'Raise `pods.limits.ephemeral-storage`, or run at most 4 in a pod: lower `concurrency`, or raise ' +
            '`pods.count`.',
    );
    assert.throws(
      () => requireRoom(plainSubmission(), { files: 0, state: 3 * 1024 * MIB }, 1, ownLimit(pods.limits)),
      /6\.4 GB of disk for databases of a scenario \(2 × 3\.2 GB\), but/,
    );
  });

  it('may be more than any node has', () => {
    const node = (disk: string, labels: Record<string, string> = {}, unschedulable = false): Node => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', labels },
      spec: { unschedulable },
      status: { allocatable: { 'ephemeral-storage': disk } },
    });
    const nodes = [node('10Gi'), node('100Gi', { disk: 'large' }), node('900Gi', {}, true)];
    const attached = { files: 4096 * MIB, state: 0 };
    requireRoom(plainSubmission(), attached, 8, largestDisk(nodes));
    requireRoom(plainSubmission(), attached, 8, largestDisk([]));
    assert.throws(
      () => requireRoom(plainSubmission(), attached, 64, largestDisk(nodes)),
      /but the largest node that they may use has 107 GB\.$/,
    );
    assert.equal(largestDisk(nodes, { disk: 'large' })?.bytes, 100 * 1024 * MIB);
    assert.equal(largestDisk(nodes, { disk: 'none' }), undefined);
  });

  it('follows the tasks of a batch, each of which is read once', async () => {
    const file = (bytes: number) => ({ name: 'a', sha: 'a'.repeat(64), bytes });
    const all: Pick<TaskRecord, 'files'>[] = [{}, { files: [file(1), file(2)] }];
    const reads: (number | undefined)[] = [];
    const attachments = new Attachments({
      tasks: (_batch: string, { after = -1 }: { after?: number }) => {
        reads.push(after);
        return Promise.resolve({ tasks: all.slice(after + 1) });
      },
    } as unknown as Store);
    assert.deepEqual(await attachments.of('b', plainSubmission()), { files: 3, state: 0 });
    all.push({ files: [file(100)] }, {});
    assert.deepEqual(await attachments.of('b', plainSubmission()), { files: 100, state: 0 });
    assert.deepEqual(await attachments.of('b', plainSubmission()), { files: 100, state: 0 });
    assert.deepEqual(reads, [-1, 1, 3]);
  });
});
