import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Submission } from '../../../src/config/submission.ts';
import type { ClusterHost } from '../../../src/executor/executor.ts';
import type { BatchObjects, NewRound } from '../../../src/executor/kubernetes/batchObjects.ts';
import { BatchPods } from '../../../src/executor/kubernetes/batchPods.ts';
import { batchJob } from '../../../src/executor/kubernetes/jobManifest.ts';
import type { Round } from '../../../src/executor/kubernetes/jobRounds.ts';
import { Rounds } from '../../../src/executor/kubernetes/rounds.ts';
import type { JobSize } from '../../../src/executor/kubernetes/sizing.ts';
import { type Job, readObject } from '../../../src/kubernetes/access/objects.ts';
import type { BatchRecord } from '../../../src/store/store.ts';

const SUBMISSION = {
  concurrency: 'auto',
  retry: { infrastructure: 1 },
  pods: { count: 2 },
  env: { names: [], shown: [] },
} as unknown as Submission;

interface Changes {
  queued?: number;
  running?: number;
  passed?: number;
  sealed?: boolean;
  paused?: boolean;
  released?: boolean;
  stopping?: string;
}

function record({
  queued = 8,
  running = 0,
  passed = 0,
  sealed = true,
  paused = false,
  released = false,
  stopping,
}: Changes = {}): BatchRecord {
  return {
    row: {
      batch: 'b1',
      tasks: 4,
      attempts: 2,
      counts: { passed, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running, held: 0, queued },
    },
    sealed,
    paused: paused || released,
    released,
    ...(stopping === undefined ? {} : { stopping }),
  } as unknown as BatchRecord;
}

/** The Job's state in the cluster. */
function jobOf(
  plan: NewRound,
  conditions: { type: string; status: string; reason?: string; message?: string }[] = [],
  released = false,
): Job {
  const object = batchJob({
    ...plan,
    namespace: 'n',
    pods: plan.submission.pods ?? {},
    image: 'i',
    pullPolicy: undefined,
  });
  const metadata = {
    ...object.metadata,
    uid: `u${plan.round}`,
    annotations: { ...object.metadata.annotations, ...(released ? { 'rollout-studio/released': 'true' } : {}) },
  };
  return readObject('Job', {
    ...object,
    metadata,
    spec: { ...(object['spec'] as object), ...(released ? { suspend: true } : {}) },
    status: { conditions },
  });
}

function kit(options: { first?: Changes; refuse?: StudioError[]; submission?: Submission; tls?: boolean } = {}) {
  const { submission = SUBMISSION } = options;
  const log: string[] = [];
  const plans: NewRound[] = [];
  const refuse = options.refuse ?? [];
  let missing: string[] = [];
  let allowed: { pods: number; text: string } | undefined;
  let unwritable: StudioError | undefined;
  let duringResize = (): void => undefined;
  const rounds = new Rounds();
  let queueReason: string | undefined;
  let role: 'makes' | 'watches' | 'unready' = 'makes';
  const say = (text: string): Promise<void> => {
    log.push(text);
    return Promise.resolve();
  };
  const objects = {
    tls: options.tls ?? false,
    create: (plan: NewRound) => {
      const error = refuse.shift();
      if (error !== undefined) return Promise.reject(error);
      plans.push(plan);
      void say(`create ${plan.round} of ${plan.sizing.parallelism}x${plan.sizing.slots}`);
      return Promise.resolve(jobOf(plan));
    },
    write: (_batch: string, _submission: Submission, slots: number, owner: { name: string }) =>
      unwritable === undefined ? say(`write ${slots} for ${owner.name}`) : Promise.reject(unwritable),
    missing: () => Promise.resolve(missing),
    handOver: () => say('hand over'),
    setReleased: ({ round }: Round, released: boolean, _: AbortSignal, size?: JobSize) => {
      const sizes = size === undefined ? '' : ` with ${size.parallelism} of ${size.completions}`;
      void say(`${released ? 'suspend' : 'let go'} ${round}${sizes}`);
      const plan = plans.find((one) => one.round === round);
      assert.ok(plan !== undefined);
      return Promise.resolve(jobOf({ ...plan, sizing: { ...plan.sizing, ...size } }, [], released));
    },
    resize: ({ round }: Round, { parallelism, completions }: JobSize) => {
      duringResize();
      void say(`resize ${round} to ${parallelism} of ${completions}`);
      const plan = plans.find((one) => one.round === round);
      assert.ok(plan !== undefined);
      return Promise.resolve(jobOf({ ...plan, sizing: { ...plan.sizing, parallelism, completions } }));
    },
    removeJob: () => say('remove job'),
    removeSecrets: () => say('remove secrets'),
  } as unknown as BatchObjects;
  const host = {
    attached: () => Promise.resolve({ files: 0, state: 0 }),
    log: () => undefined,
    recordInfra: (_batch: string, { what, text }: { what: string; text: string }) => say(`${what}: ${text}`),
    giveUp: (_batch: string, reason: string) => say(`give up: ${reason}`),
  } as unknown as ClusterHost;
  const pods = new BatchPods(
    {
      host,
      objects,
      rounds,
      role: () => role,
      ignoredRounds: 0,
      lastBadEnd: () => 'Pod p failed.',
      queueReason: () => queueReason,
      allowed: () => allowed,
      signal: new AbortController().signal,
    },
    record(options.first),
    submission,
  );
  open.push(pods);
  return {
    pods,
    rounds,
    log,
    plans,
    be: (next: typeof role) => (role = next),
    allow: (next: typeof allowed) => (allowed = next),
    queueSays: (reason: string | undefined) => (queueReason = reason),
    onResize: (check: () => void) => (duringResize = check),
    /** Others deleted objects, and writing them again fails. */
    lose: async (objects: string[], error?: StudioError): Promise<string[]> => {
      const from = log.length;
      missing = objects;
      unwritable = error;
      await pods.checkObjects();
      await settled();
      missing = [];
      return log.slice(from);
    },
    look: async (changes?: Changes): Promise<string[]> => {
      const from = log.length;
      if (changes === undefined) pods.request();
      else pods.update(record(changes), submission);
      await settled();
      return log.slice(from);
    },
  };
}

/** Everything that follows immediately is done. */
const settled = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, 0)).then(() => new Promise((resolve) => setTimeout(resolve, 0)));

const open: BatchPods[] = [];

describe('BatchPods', () => {
  afterEach(() => {
    for (const pods of open.splice(0)) pods.close();
  });

  it('creates one Job while there is something to run, once the tasks exist', async () => {
    const { look } = kit({ first: { sealed: false } });
    assert.deepEqual(await look(), []);
    assert.deepEqual(await look({ queued: 8 }), ['create 1 of 2x4']);
    assert.deepEqual(await look({ queued: 4, running: 4 }), []);
  });

  it('replaces a Job of an older version, whose pods do not know the server', async () => {
    const older = { batch: 'b1', round: 1, submission: SUBMISSION, fruitless: 0, settled: 0 };
    const job = jobOf({ ...older, sizing: { completions: 2, parallelism: 2, slots: 4 } });
    const before = kit();
    before.rounds.see(job);
    assert.deepEqual(await before.look(), ['write 4 for rollout-b1-1']);
    const { look, rounds } = kit({ tls: true });
    rounds.see(job);
    assert.deepEqual(await look(), ['remove job']);
    rounds.remove(job);
    assert.deepEqual(await look(), ['create 2 of 2x4']);
  });

  it('replaces a Job of an older version, whose pods cannot prove which one they are', async () => {
    const submission: Submission = { ...SUBMISSION, pods: { isolation: 'pod' } };
    const plan = { batch: 'b1', round: 1, fruitless: 0, settled: 0 };
    const job = (of: Submission) =>
      jobOf({ ...plan, submission: of, sizing: { completions: 2, parallelism: 2, slots: 1 } });
    for (const [of, expected] of [
      [SUBMISSION, 'remove job'],
      [submission, 'write 1 for rollout-b1-1'],
    ] as const) {
      const { look, rounds } = kit({ submission });
      rounds.see(job(of));
      assert.deepEqual(await look(), [expected]);
    }
  });

  it('creates none while the batch is paused or stopped, or another server does', async () => {
    const { look, be } = kit({ first: { paused: true } });
    assert.deepEqual(await look(), []);
    assert.deepEqual(await look({ stopping: 'enough' }), []);
    be('unready');
    assert.deepEqual(await look({}), []);
    be('watches');
    assert.deepEqual([...(await look({})), ...(await look({}))], ['hand over']);
    be('makes');
    assert.deepEqual(await look({}), ['create 1 of 2x4']);
  });

  it('has no more pods than its user may, and gets more when others end', async () => {
    const { look, allow, pods, rounds } = kit();
    allow({ pods: 0, text: 'ann may have 2 pods at once.' });
    assert.deepEqual(await look(), []);
    assert.deepEqual(pods.wait, { why: 'pods', text: 'ann may have 2 pods at once.' });
    assert.deepEqual(pods.pods, { has: 0, wants: 2 });
    allow({ pods: 1, text: 'ann may have 2 pods at once.' });
    assert.deepEqual(await look({}), ['create 1 of 1x4']);
    assert.deepEqual([pods.wait.why, pods.pods], ['pods', { has: 1, wants: 2 }]);
    assert.deepEqual(await look({ queued: 4, running: 4 }), []);
    allow({ pods: 2, text: 'ann may have 2 pods at once.' });
    assert.deepEqual(await look({ queued: 4, running: 4 }), ['resize 1 to 2 of 2']);
    assert.deepEqual([pods.wait, rounds.active('b1')?.pods], [undefined, 2]);
  });

  it('counts the pods that it is getting at once, so that no other batch gets the same', async () => {
    const { look, pods, allow, onResize, rounds } = kit();
    allow({ pods: 1, text: 'ann may have 2 pods at once.' });
    pods.request();
    assert.deepEqual(pods.pods, { has: 1, wants: 2 }, 'before the cluster has answered');
    await settled();
    allow({ pods: 2, text: 'ann may have 2 pods at once.' });
    onResize(() => assert.deepEqual([pods.pods, rounds.active('b1')?.pods], [{ has: 2, wants: 2 }, 1]));
    assert.deepEqual(await look(), ['resize 1 to 2 of 2']);
    assert.deepEqual([pods.pods, rounds.active('b1')?.pods], [{ has: 2, wants: 2 }, 2]);
  });

  it('is resumed with no more pods than its user may have', async () => {
    const { look, allow, pods, rounds } = kit();
    await look();
    await look({ queued: 8, released: true });
    assert.deepEqual(pods.pods, { has: 0, wants: 0 }, 'others may have its pods');
    allow({ pods: 0, text: 'ann may have 2 pods at once.' });
    assert.deepEqual(await look({ queued: 8 }), []);
    assert.deepEqual(pods.wait, { why: 'pods', text: 'ann may have 2 pods at once.' });
    allow({ pods: 1, text: 'ann may have 2 pods at once.' });
    assert.deepEqual(await look({ queued: 8 }), [
      'let go 1 with 1 of 1',
      'pods_back: Job rollout-b1-1 was resumed. Its pods are starting again.',
    ]);
    assert.equal(rounds.active('b1')?.pods, 1);
  });

  it('has the pods for which its Job waits, but none for indexes that are done', () => {
    const { pods, rounds, plans } = kit({ submission: { ...SUBMISSION, pods: { count: 5, queue: 'team-a' } } });
    assert.equal(plans.length, 0);
    const sizing = { completions: 5, parallelism: 5, slots: 4 };
    const plan = { batch: 'b1', submission: SUBMISSION, round: 1, fruitless: 0, settled: 0, sizing };
    const job = jobOf(plan);
    rounds.see(readObject('Job', { ...job, spec: { ...job.spec, suspend: true } }));
    assert.equal(pods.pods.has, 5, 'others may resume it at any time');
    rounds.see({ ...job, status: { succeeded: 1, failedIndexes: '0,2-3' } });
    assert.equal(pods.pods.has, 1);
    rounds.see({ ...job, metadata: { ...job.metadata, generation: 2 } });
    rounds.see({ ...job, metadata: { ...job.metadata, generation: 1 }, status: { succeeded: 5 } });
    assert.equal(pods.pods.has, 5, 'an older state is no news');
  });

  it('releases the pods of a paused batch once nothing runs, and has them again when it is resumed', async () => {
    const { look, rounds } = kit();
    await look();
    assert.deepEqual(await look({ queued: 6, running: 2, released: true }), [], 'not while something runs');
    const report =
      'pods_released: The batch is paused without pods: Job rollout-b1-1 is suspended until you resume the batch. ' +
      'Held attempts then continue from their last recorded event.';
    assert.deepEqual(await look({ queued: 8, released: true }), ['suspend 1', report]);
    assert.deepEqual([rounds.active('b1')?.released, await look({ queued: 8, released: true })], [true, []]);
    assert.deepEqual(await look({ queued: 8 }), [
      'let go 1',
      'pods_back: Job rollout-b1-1 was resumed. Its pods are starting again.',
    ]);
    assert.deepEqual(await look({ queued: 8, released: true }), ['suspend 1', report], 'and once more');
  });

  it('resumes a Job that an earlier server suspended', async () => {
    const { look, rounds, plans } = kit();
    await look();
    const [plan] = plans;
    assert.ok(plan !== undefined);
    const { look: later, rounds: found, plans: stored } = kit();
    stored.push(plan);
    found.see(jobOf(plan, [], true));
    assert.deepEqual(await later({ released: true }), ['write 4 for rollout-b1-1']);
    assert.deepEqual(await later({}), [
      'let go 1',
      'pods_back: Job rollout-b1-1 was resumed. Its pods are starting again.',
    ]);
    assert.equal(found.active('b1')?.released, false);
    assert.equal(rounds.active('b1')?.released, false);
  });

  it('lets Kueue decide when its Jobs run: the Job of a paused batch is removed', async () => {
    const submission = { ...SUBMISSION, pods: { count: 2, queue: 'team-a' } } as Submission;
    const { look, rounds, plans } = kit({ submission });
    await look();
    assert.deepEqual(await look({ released: true }), [
      'remove job',
      'pods_released: The batch is paused without pods: Job rollout-b1-1 is removed, and the next one waits ' +
        'for the queue team-a until you resume the batch. Held attempts then continue from their last recorded event.',
    ]);
    const [plan] = plans;
    assert.ok(plan !== undefined);
    rounds.remove(jobOf(plan));
    assert.deepEqual(await look({ released: true }), []);
    assert.deepEqual(await look({}), ['create 2 of 2x4']);
  });

  it('says why its Job waits once the queue does, each time, but not of a queue that admits it at once', async () => {
    const submission = { ...SUBMISSION, pods: { count: 2, queue: 'team-a' } } as Submission;
    const { look, rounds, plans, pods, queueSays } = kit({ submission });
    await look();
    const job = jobOf(plans[0]!);
    const resumed = { ...job, spec: { ...job.spec, suspend: false } } as Job;
    assert.deepEqual(await look(), []);
    assert.match(pods.wait?.text ?? '', /is waiting for admission by the queue team-a\.$/);
    rounds.see(resumed);
    assert.deepEqual(await look(), []);
    assert.equal(pods.wait, undefined);
    for (const reason of ['The ClusterQueue is stopped', 'insufficient unused quota for cpu']) {
      rounds.see(job);
      queueSays(reason);
      const text = `Job rollout-b1-1 is waiting for admission by the queue team-a: ${reason}.`;
      assert.deepEqual(await look(), [`suspended: ${text}`]);
      assert.deepEqual(await look(), [], 'once');
      assert.deepEqual(pods.wait, { why: 'queue', text });
      rounds.see(resumed);
      queueSays(undefined);
      assert.deepEqual(await look(), []);
    }
  });

  it('adopts the Job of an earlier server', async () => {
    const { look, rounds } = kit();
    rounds.see(
      jobOf({
        batch: 'b1',
        submission: SUBMISSION,
        round: 3,
        fruitless: 0,
        settled: 0,
        sizing: { completions: 2, parallelism: 2, slots: 5 },
      }),
    );
    assert.deepEqual([...(await look()), ...(await look())], ['write 5 for rollout-b1-3']);
  });

  it('follows a Job that ended with the next one, and gives up when nothing settles', async () => {
    const { look, rounds, plans } = kit();
    await look();
    const end = (reason: string): void => {
      const plan = plans.at(-1);
      assert.ok(plan !== undefined);
      rounds.see(jobOf(plan, [{ type: 'Failed', status: 'True', reason, message: 'Job has failed indexes' }]));
    };
    end('FailedIndexes');
    assert.deepEqual(await look({ queued: 3, passed: 5 }), ['create 2 of 2x2']);
    assert.deepEqual([plans[1]?.settled, plans[1]?.fruitless], [5, 0]);
    end('PodFailurePolicy');
    assert.deepEqual(await look({ queued: 3, passed: 5 }), [
      'give up: The pods of the batch cannot run: Job has failed indexes. Pod p failed.',
    ]);
    assert.deepEqual(await look({ queued: 3, passed: 5 }), []);
  });

  it('reports a temporary refusal of the cluster once, and ends the batch at a permanent one', async () => {
    const quota = (): StudioError => new StudioError('forbidden', 'Short.', { details: { reason: 'Quota' } });
    const { look } = kit({ refuse: [quota(), quota(), new StudioError('config', 'No such thing.')] });
    assert.deepEqual(await look(), ['quota: Cannot start pods: Short.']);
    assert.deepEqual(await look(), []);
    assert.deepEqual(await look(), ['give up: No such thing.']);
  });

  it('creates again what others deleted, and reports it once', async () => {
    const { look, lose } = kit();
    await look();
    assert.deepEqual(await lose([]), []);
    const [written, report, ...more] = await lose(['ConfigMap rollout-b1', 'Secret rollout-b1']);
    assert.deepEqual([written, more], ['write 4 for rollout-b1-1', []]);
    assert.match(
      report ?? '',
      /^objects_lost: ConfigMap rollout-b1 and Secret rollout-b1 were deleted by someone else, and created again /,
    );
    assert.deepEqual(await look(), []);
  });

  it('says how to send lost values again, once, and continues with them', async () => {
    const { look, lose, pods } = kit();
    await look();
    const lost = new StudioError('unavailable', 'The values of KEY are lost.', {
      hint: 'Send them again with rollout resume b1.',
      details: { missing: ['KEY'] },
    });
    assert.deepEqual(await lose(['Secret rollout-b1'], lost), [], 'another server may have them');
    assert.deepEqual(pods.lacking, ['KEY']);
    assert.deepEqual(await look(), [
      'values_lost: No pod can start. The values of KEY are lost. Send them again with rollout resume b1.',
    ]);
    assert.deepEqual(await look(), []);
    await lose([]);
    const [written, report] = await look();
    assert.equal(written, 'write 4 for rollout-b1-1');
    assert.match(report ?? '', /^objects_lost: Secret rollout-b1 was deleted .* once the values were sent again\.$/);
    assert.deepEqual(pods.lacking, []);
  });

  it('waits while another program has the name of an object', async () => {
    const { look, lose } = kit();
    await look();
    const foreign = new StudioError('conflict', 'It belongs to another program.', { details: { reason: 'Foreign' } });
    assert.deepEqual(await lose(['Secret rollout-b1'], foreign), [
      'objects_taken: No pod can start. It belongs to another program.',
    ]);
    assert.deepEqual(await look(), []);
  });

  it('leaves nothing of a batch that ended while its Job was created', async () => {
    const { pods, log } = kit();
    pods.request();
    pods.close();
    await settled();
    assert.deepEqual(log, ['create 1 of 2x4', 'remove job', 'remove secrets']);
  });
});
