/** A server that the command line installed into a temporary namespace, a workspace to run on it, and their cleanup. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { connectTarget, type TargetConnection } from '../../../src/client/targets/connectTarget.ts';
import type { JsonObject } from '../../../src/common/json.ts';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { Pod } from '../../../src/kubernetes/access/objects.ts';
import { batchLabels, selector } from '../../../src/kubernetes/names.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Bench, type CommandResult } from '../../support/cli.ts';
import { assertWhole } from '../../support/directed.ts';
import { Workspace } from '../../support/testWorkspace.ts';
import { type Site, site } from './site.ts';

const DATA = 'data';
/** Name of the target. */
export const TARGET = 'suite';
/** The variable with the token of a server at an address. */
const TOKEN = 'ROLLOUT_TEST_TOKEN';
const PATIENCE_MS = 90_000;
const POLL_MS = 200;
/** An installation waits five minutes for its server. */
const INSTALL_MS = 330_000;

export class ClusterBench {
  readonly site: Site;
  /** Site with the test's namespace as the default one. */
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly workspace: Workspace;
  /** The folder with the server's data, where that is on this machine. */
  readonly data: string;
  readonly #plain: Bench;
  readonly #bench: Bench;
  #connection: Promise<TargetConnection> | undefined;

  private constructor(plain: Bench, place: Site, namespace: string) {
    this.#plain = plain;
    this.data = plain.path(DATA);
    this.site = place;
    this.namespace = namespace;
    this.cluster = place.cluster.inNamespace(namespace);
    this.#bench = new Bench({ where: ['--target', TARGET], env: homeIn(plain.folder) });
    this.workspace = new Workspace(this.#bench, () => this.connection());
  }

  /** Configures the cluster as a target; nothing is installed yet. */
  static async open(name: string): Promise<ClusterBench> {
    const plain = new Bench({ where: [], env: homeIn(undefined) });
    const data = plain.path(DATA);
    mkdirSync(data);
    chmodSync(data, 0o777); // the server in its pod is another user
    const bench = new ClusterBench(plain, await site(data), `rollout-test-${name}-${randomBytes(3).toString('hex')}`);
    const { context } = bench.site.cluster;
    const ran = await plain.run([
      'target',
      'add',
      TARGET,
      '--context',
      context,
      '--kubeconfig',
      bench.site.kubeconfig,
      '--namespace',
      bench.namespace,
    ]);
    assert.equal(ran.code, 0, ran.stderr);
    return bench;
  }

  /** The same, with a server installed, which divides what it has by these settings. */
  static async installed(name: string, shares?: JsonObject): Promise<ClusterBench> {
    const bench = await ClusterBench.open(name);
    try {
      const settings =
        shares === undefined ? [] : ['--shares', bench.workspace.write('shares.yaml', JSON.stringify(shares))];
      await bench.install(...settings);
    } catch (error) {
      await bench.close();
      throw error;
    }
    return bench;
  }

  /** The variables with which programs find the target. */
  get home(): Record<string, string> {
    return homeIn(this.#plain.folder);
  }

  install(...more: string[]): Promise<CommandResult> {
    return this.#well(['cluster', 'install', '--create-namespace', ...this.site.arguments, ...more]);
  }

  uninstall(...more: string[]): Promise<CommandResult> {
    return this.#well(['cluster', 'uninstall', ...more]);
  }

  /** The target is a server at an address from now on, not one in the cluster. */
  async reachAt(url: string, token: string): Promise<void> {
    process.env[TOKEN] = token;
    for (const args of [
      ['remove', TARGET],
      ['add', TARGET, '--url', url, '--token-env', TOKEN],
    ]) {
      const ran = await this.#plain.run(['target', ...args]);
      assert.equal(ran.code, 0, ran.stderr);
    }
    this.#connection = connectTarget(TARGET, { url, token_env: TOKEN }, { env: process.env });
  }

  /** Runs `rollout … --target` to its end. */
  rollout(...args: string[]): Promise<CommandResult> {
    return this.#bench.run(args, { timeoutMs: INSTALL_MS });
  }

  /** The same with the command line of another version. */
  rolloutBy(program: string, ...args: string[]): Promise<CommandResult> {
    return this.#bench.run(args, { program, timeoutMs: INSTALL_MS });
  }

  /** The same in a folder, with additional environment variables. */
  rolloutIn(cwd: string, env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
    return this.#bench.run(args, { cwd, env });
  }

  /** Runs `rollout …` without a target. */
  rolloutWithoutTarget(...args: string[]): Promise<CommandResult> {
    return this.#plain.run(args);
  }

  async #well(args: readonly string[]): Promise<CommandResult> {
    const ran = await this.#bench.run(args, { timeoutMs: INSTALL_MS });
    assert.equal(ran.code, 0, `${ran.stdout}\n${ran.stderr}`);
    return ran;
  }

  connection(): Promise<TargetConnection> {
    this.#connection ??= connectTarget(
      TARGET,
      { context: this.site.cluster.context, kubeconfig: this.site.kubeconfig, namespace: this.namespace },
      { env: process.env },
    );
    return this.#connection;
  }

  /** Live pods of a batch. */
  async workers(batch: string): Promise<Pod[]> {
    const pods = await this.cluster.list('Pod', { labels: selector(batchLabels(batch)) });
    return pods.filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running',
    );
  }

  /** The live pod that runs the most rollouts of a batch; undefined if none runs any. */
  async busiest(batch: string): Promise<Pod | undefined> {
    const running = (await this.workspace.rows(batch)).filter(({ state }) => state === 'running');
    const count = ({ metadata }: Pod): number => running.filter(({ worker }) => worker === metadata.name).length;
    const pods = (await this.workers(batch)).filter((pod) => count(pod) > 0);
    return pods.toSorted((one, other) => count(other) - count(one))[0];
  }

  /** Infrastructure events of the batch's stream. */
  async infra(batch: string): Promise<string[]> {
    return (await this.workspace.events(batch)).flatMap((event) => (event.kind === 'infra' ? [event.data.text] : []));
  }

  /**
   * Asserts that every attempt ended exactly once: one try of each settles it, and every record is whole. Returns the
   * rows.
   */
  async assertSettledOnce(batch: string, attempts: number): Promise<RolloutRow[]> {
    const rows = await this.workspace.ended(batch);
    const settling = rows.filter((row) => row.settles);
    assert.equal(new Set(settling.map((row) => `${row.task}/${row.attempt}`)).size, attempts);
    assert.equal(settling.length, attempts, 'no attempt has two tries that settle it');
    for (const row of settling) assertWhole(await this.workspace.events(row.rollout));
    assert.equal((await this.workspace.events(batch)).filter((event) => event.kind === 'batch.end').length, 1);
    return rows;
  }

  /** Removes all of it, whatever its state. */
  async close(): Promise<void> {
    (await this.#connection?.catch(() => undefined))?.close();
    // Jobs first: one that is to replace a failed pod keeps it, and a namespace that ends waits for its pods and
    // creates no new ones.
    for (const kind of ['Deployment', 'Job'] as const) {
      for (const { metadata } of await this.cluster.list(kind))
        await this.cluster.remove(kind, metadata.name, { propagation: 'Background' });
    }
    await this.cluster.remove('Namespace', this.namespace);
    // The cluster does the rest; data on this machine stays until nothing writes it anymore.
    await until('the pods are gone', async () => (await this.cluster.list('Pod')).length === 0, 2 * PATIENCE_MS);
    this.site.cluster.close();
    await this.#bench.close();
    await this.#plain.close();
  }
}

/**
 * Credential programs of a kubeconfig look for their files in the user's own folder; targets are kept elsewhere where
 * possible.
 */
function homeIn(folder: string | undefined): Record<string, string> {
  const home = process.platform === 'linux' ? process.env['HOME'] : undefined;
  return {
    ...(folder === undefined ? {} : { XDG_DATA_HOME: folder, LOCALAPPDATA: folder, HOME: folder }),
    ...(home === undefined ? {} : { HOME: home }),
  };
}

/** Polls until the condition holds: there is no event to wait for. */
export async function until(what: string, so: () => Promise<boolean>, ms = PATIENCE_MS): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    if (await so()) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  assert.fail(`not within ${ms / 1000} s: ${what}`);
}
