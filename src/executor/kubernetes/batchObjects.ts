/** Creates, updates, and removes the cluster objects of batches. */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { requireHarmlessSidecars } from '../../config/sidecars.ts';
import type { Submission } from '../../config/submission.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import { KINDS } from '../../kubernetes/access/kinds.ts';
import { type Job, type KubeObject, type OwnerReference, readObject } from '../../kubernetes/access/objects.ts';
import { batchName, LABEL, labels, type ProgramSource, selector } from '../../kubernetes/names.ts';
import { SECRETS_FILE } from '../../kubernetes/programs/workerBootstrap.ts';
import type { ClusterHost } from '../executor.ts';
import { BatchNetwork, batchPolicies, policyNames } from './batchNetwork.ts';
import { ImagePins } from './imagePins.ts';
import {
  batchConfigMap,
  batchJob,
  batchSecret,
  belongingMetadata,
  NOTE,
  type PodObjectOptions,
} from './jobManifest.ts';
import { batchOf, type Round } from './jobRounds.ts';
import { sidecarVariables } from './sidecarSecrets.ts';
import type { PodSizing } from './sizing.ts';

/** Selects all objects that belong to batches. */
export const OF_BATCHES = `${selector(labels('worker'))},${LABEL.batch}`;

export interface BatchObjectsOptions {
  readonly cluster: Cluster;
  readonly host: ClusterHost;
  /** sha256 of the programs of workers. */
  readonly programs: string;
  /** Where workers have their first code from. */
  readonly programSource?: ProgramSource | undefined;
  /** Image of pods whose batch does not set one. */
  readonly image: string;
  readonly pullPolicy: string | undefined;
  /** How long a pod waits for an unreachable server. */
  readonly reconnectSeconds: number;
  /** The pod of this server, if it runs in one: its image is that of workers whose batch sets none. */
  readonly ownPod?: string | undefined;
  /** The certificate by which workers know the server, as PEM. undefined: they connect without TLS, or by a gateway. */
  readonly authority?: string | undefined;
}

export interface NewRound {
  readonly batch: string;
  readonly submission: Submission;
  readonly round: number;
  readonly fruitless: number;
  readonly settled: number;
  readonly sizing: PodSizing;
}

const values = z.record(z.string(), z.string());

export class BatchObjects {
  readonly #options: BatchObjectsOptions;
  /** The images of pods by their digests. */
  readonly pins = new ImagePins();
  readonly #network: BatchNetwork;
  /** By batch: the policies as they were last applied. */
  readonly #policies = new Map<string, readonly KubeObject[]>();
  #mayLimitNetwork = true;

  constructor(options: BatchObjectsOptions) {
    this.#options = options;
    const { cluster } = options;
    this.#network = new BatchNetwork({
      namespace: cluster.namespace,
      slices: (label, service) => cluster.list('EndpointSlice', { labels: selector({ [label]: service }) }),
    });
  }

  /** Whether pods know the server by its authority. */
  get tls(): boolean {
    return this.#options.authority !== undefined;
  }

  /** Keeps Jobs that belong to a Deployment, as those of older versions do: they would be deleted with it. */
  async disown(jobs: readonly Job[], signal: AbortSignal): Promise<void> {
    for (const { metadata } of jobs) {
      if ((metadata.ownerReferences ?? []).some(({ kind }) => kind === 'Deployment'))
        await this.#options.cluster.patch('Job', metadata.name, { metadata: { ownerReferences: null } }, { signal });
    }
  }

  /** Creates a Job and the objects its pods need. Returns the existing Job if an earlier call created it. */
  async create(plan: NewRound, signal: AbortSignal): Promise<Job> {
    const { cluster, image, pullPolicy, programSource } = this.#options;
    const { batch, submission, sizing } = plan;
    // Batches of older versions were not checked when they were created.
    requireHarmlessSidecars(submission);
    // Pods wait long for objects that are missing at their start, so the Job is created last, and owns them only then.
    await this.write(batch, submission, sizing.slots, undefined, signal);
    await this.#learnOwnImage(signal);
    const object = batchJob({
      pinned: (named, policy) => this.pins.of(named, policy),
      tls: this.tls,
      programs: programSource,
      batch,
      round: plan.round,
      namespace: cluster.namespace,
      pods: submission.pods ?? {},
      sizing,
      image,
      pullPolicy,
      settled: plan.settled,
      fruitless: plan.fruitless,
    });
    let job: Job | undefined;
    try {
      job = readObject('Job', await cluster.create(object, { signal }));
    } catch (error) {
      if (!StudioError.is(error, 'conflict')) throw error;
      job = await cluster.get('Job', object.metadata.name, { signal });
      if (job === undefined) throw error;
    }
    const { name, uid } = job.metadata;
    if (uid !== undefined) await this.write(batch, submission, sizing.slots, ownerOf({ name, uid }), signal);
    return job;
  }

  /** Learns which image this server itself runs. */
  async #learnOwnImage(signal: AbortSignal): Promise<void> {
    const { cluster, ownPod, image, pullPolicy } = this.#options;
    if (ownPod === undefined || this.pins.of(image, pullPolicy) !== image) return;
    const pod = await cluster.get('Pod', ownPod, { signal });
    if (pod !== undefined) this.pins.learn(pod);
  }

  /**
   * Writes the ConfigMap and Secret that pods of the batch start with. Throws StudioError `unavailable` while only
   * another server has the batch's secrets.
   */
  async write(
    batch: string,
    submission: Submission,
    slots: number,
    owner: OwnerReference | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster, host, programs, programSource, reconnectSeconds } = this.#options;
    const options = { batch, namespace: cluster.namespace, owner };
    const single = submission.pods?.isolation === 'pod';
    const worker = {
      server: host.url,
      ...((host.others ?? []).length === 0 ? {} : { others: host.others }),
      token: single ? host.podToken(batch) : host.token(batch),
      batch,
      slots,
      reconnect_seconds: reconnectSeconds,
      programs,
      ...(single ? { rollouts: 1 } : {}),
    };
    const secrets = await this.#secretsFor(batch, submission, signal);
    await Promise.all([
      this.#limitNetwork(options, submission, secrets, signal),
      cluster.apply(batchConfigMap(options, programSource), { signal }),
      cluster.apply(
        batchSecret(options, worker, secrets, sidecarVariables(submission.pods ?? {}), this.#options.authority),
        { signal },
      ),
    ]);
  }

  /** Allows the addresses that what the batch names has now. */
  async refreshNetwork(batch: string, submission: Submission, signal: AbortSignal): Promise<void> {
    const applied = this.#policies.get(batch)?.[0];
    if (applied === undefined) return;
    const [owner] = applied.metadata.ownerReferences ?? [];
    const secrets = await this.#secretsFor(batch, submission, signal);
    await this.#limitNetwork({ batch, namespace: this.#options.cluster.namespace, owner }, submission, secrets, signal);
  }

  /** Applies the policies of a batch if they changed. Without the right to do so, the batch runs all the same. */
  async #limitNetwork(
    options: PodObjectOptions,
    submission: Submission,
    secrets: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#mayLimitNetwork) return;
    const { cluster, host } = this.#options;
    const { batch } = options;
    try {
      const rules = await this.#network.rules(submission, secrets, [host.url, ...(host.others ?? [])]);
      const policies = batchPolicies(batch, rules, (name) => belongingMetadata(options, name));
      if (isDeepStrictEqual(policies, this.#policies.get(batch))) return;
      for (const policy of policies) await cluster.apply(policy, { signal });
      this.#policies.set(batch, policies);
    } catch (error) {
      if (!StudioError.is(error, 'forbidden')) throw error;
      this.#mayLimitNetwork = false;
      host.log(
        `Pods may reach only what the installation allows, not what batches name: ${error.message} Run rollout ` +
          'cluster upgrade.',
        { level: 'warning' },
      );
    }
  }

  /** Stores the secrets that were sent to this server in the cluster, for the server that creates the Job. */
  async handOver(batch: string, submission: Submission, signal: AbortSignal): Promise<void> {
    const { cluster, host } = this.#options;
    if (
      (await host.secrets(batch)) === undefined ||
      (await cluster.get('Secret', batchName(batch), { signal })) !== undefined
    )
      return;
    await this.write(batch, submission, 1, undefined, signal);
  }

  /** Removes the secrets of an ended batch. `all`: also its other objects, except Jobs. */
  async removeSecrets(batch: string, all: boolean, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    await cluster.remove('Secret', batchName(batch), { signal });
    this.#policies.delete(batch);
    if (!all) return;
    await cluster.remove('ConfigMap', batchName(batch), { signal });
    for (const name of Object.values(policyNames(batch)))
      await cluster.remove('NetworkPolicy', name, { signal }).catch((error: unknown) => {
        if (!StudioError.is(error, 'forbidden')) throw error;
      });
  }

  async removeJob({ name, uid }: Round, signal: AbortSignal): Promise<void> {
    await this.#options.cluster.remove('Job', name, { uid, propagation: 'Background', signal });
  }

  /** Removes the pods of a Job, or lets it create them again. This does not count as failures of the Job. */
  async setReleased({ name }: Round, released: boolean, signal: AbortSignal): Promise<Job> {
    return this.#options.cluster.patch(
      'Job',
      name,
      { metadata: { annotations: { [NOTE.released]: released ? 'true' : null } }, spec: { suspend: released } },
      { signal },
    );
  }

  /** Returns the secrets in the batch's Secret. */
  async secrets(batch: string, signal: AbortSignal): Promise<Record<string, string> | undefined> {
    const stored = (await this.#options.cluster.get('Secret', batchName(batch), { signal }))?.data?.[SECRETS_FILE];
    return stored === undefined ? undefined : values.parse(JSON.parse(Buffer.from(stored, 'base64').toString('utf8')));
  }

  /** Returns the batches that have objects in the cluster. */
  async batches(signal: AbortSignal): Promise<Set<string>> {
    // Each has a ConfigMap as long as it has a Secret, and Secrets are not listed, because a list has their values.
    const found = await this.#options.cluster.list('ConfigMap', { labels: OF_BATCHES, signal });
    return new Set(found.flatMap((object) => batchOf(object) ?? []));
  }

  /** Returns the secrets that the client sent to this server, or those another server put into the Secret. */
  async #secretsFor(batch: string, submission: Submission, signal: AbortSignal): Promise<Record<string, string>> {
    const file = await this.#options.host.secrets(batch);
    if (file !== undefined) return values.parse(JSON.parse(await readFile(file, 'utf8')));
    if (submission.env.names.length === 0) return {};
    const found = (await this.secrets(batch, signal)) ?? {};
    const missing = submission.env.names.filter((name) => !Object.hasOwn(found, name));
    if (missing.length > 0) {
      throw new StudioError('unavailable', `This server does not have the values of ${missing.join(', ')}.`, {
        hint:
          'They are on the server to which the batch was submitted. If that server is gone for good, submit the ' +
          'batch again.',
      });
    }
    return found;
  }
}

/** Returns the owner reference of a Job, for the objects its pods need. */
export function ownerOf({ name, uid }: Pick<Round, 'name' | 'uid'>): OwnerReference {
  return { apiVersion: KINDS.Job.apiVersion, kind: 'Job', name, uid };
}
