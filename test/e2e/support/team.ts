/** A server that two users share, with queues and limits, and workers of this machine: the target `team`. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectTarget, type TargetConnection } from '../../../src/client/targets/connectTarget.ts';
import { TargetFile } from '../../../src/client/targets/targetFile.ts';
import { entryUrl, LONG_RUNNING } from '../../../src/common/entries.ts';
import type { SharesFile } from '../../../src/config/schema/sharesFile.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { createDemoModel } from '../../../src/demo/demoModel.ts';
import { LocalExecutor } from '../../../src/executor/local/localExecutor.ts';
import { WorkFolders } from '../../../src/executor/local/workFolders.ts';
import { FakeCluster } from '../../support/fakeCluster.ts';
import { plainSubmission, submitTo, tasks } from '../../support/rolloutServer.ts';

const DEMO = '/demo';
const RIGHTS = ['get', 'create', 'update'] as const;

export class Team implements AsyncDisposable {
  readonly #cluster: FakeCluster;
  readonly #folder: string;
  readonly #bob: TargetConnection;

  private constructor(cluster: FakeCluster, folder: string, bob: TargetConnection) {
    this.#cluster = cluster;
    this.#folder = folder;
    this.#bob = bob;
  }

  /** `store`: of the VS Code in which `ann` has the target. */
  static async start(store: string, shares: SharesFile): Promise<Team> {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-team-'));
    const demo = createDemoModel({ prefix: DEMO });
    const cluster = await FakeCluster.start(undefined, undefined, {
      shares,
      mounts: [{ prefix: DEMO, handle: (request, response) => demo.handle(request, response) }],
      demoMetrics: `${DEMO}/metrics`,
      executor: (host) =>
        new LocalExecutor({
          host,
          work: new WorkFolders({ record: path.join(folder, 'work.json'), bases: [path.join(folder, 'work')] }),
          logFile: path.join(folder, 'worker.log'),
          discovery: undefined,
          noSandbox: () => Promise.resolve(undefined),
          command: { file: process.execPath, args: [...LONG_RUNNING, fileURLToPath(entryUrl('worker'))] },
        }),
    });
    const target = cluster.user({ name: 'ann', token: 'token-of-ann' }, RIGHTS);
    new TargetFile(path.dirname(store)).add('team', target);
    const own = cluster.user({ name: 'bob', token: 'token-of-bob' }, RIGHTS);
    return new Team(cluster, folder, await connectTarget('team', own, { env: {} }));
  }

  /** Launches a batch of bob. */
  launch(name: string, some: Partial<Submission>, count: number): Promise<string> {
    const { agent } = plainSubmission();
    const model = { ...agent.model, endpoints: ['demo:?latency_ms=1500'] };
    const submission = plainSubmission({ name, agent: { ...agent, model }, attempts: 1, ...some });
    return submitTo(this.#bob.api, submission, tasks(count));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#bob.close();
    await this.#cluster[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}
