/** Creates, updates, and removes the cluster objects of batches. */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { WorkerPods } from '../../config/schema/placement.ts';
import { requireHarmlessSidecars } from '../../config/sidecars.ts';
import type { Submission } from '../../config/submission.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import { KINDS, type Kind } from '../../kubernetes/access/kinds.ts';
import { type Job, type KubeObject, type OwnerReference, readObject } from '../../kubernetes/access/objects.ts';
import { batchName, isOfBatch, LABEL, labels, type ProgramSource, selector } from '../../kubernetes/names.ts';
import { AUTHORITY_FILE, BUNDLE_FILE, SECRETS_FILE, WORKER_FILE } from '../../kubernetes/programs/workerBootstrap.ts';
import type { Attached, ClusterHost } from '../executor.ts';
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
import { BOOTSTRAP_FILE, type PodOutbound } from './podManifest.ts';
import { withDefaults } from './podResources.ts';
import { scratchOf } from './scratch.ts';
import { sidecarVariables } from './sidecarSecrets.ts';
import type { JobSize, PodSizing } from './sizing.ts';

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
  /** Settings of pods whose batch does not have them. */
  readonly defaults?: WorkerPods | undefined;
  /** How long a pod waits for an unreachable server. */
  readonly reconnectSeconds: number;
  /** The pod of this server, if it runs in one: its image is that of workers whose batch sets none. */
  readonly ownPod?: string | undefined;
  /** The certificate by which workers know the server, as PEM. undefined: they connect without TLS, or by a gateway. */
  readonly authority?: string | undefined;
  /** How pods reach what is outside the cluster. */
  readonly outbound?: PodOutbound | undefined;
}

export interface NewRound {
  readonly batch: string;
  readonly submission: Submission;
  readonly round: number;
  readonly fruitless: number;
  readonly settled: number;
  readonly sizing: PodSizing;
  /** What each rollout gets on its disk. */
  readonly attached?: Attached | undefined;
}

const values = z.record(z.string(), z.string());

export class BatchObjects {
  readonly #options: BatchObjectsOptions;
  /** The images of pods by their digests. */
  readonly pins = new ImagePins();
  readonly #network: BatchNetwork;
  /** By batch: the policies as they were last applied. */
  readonly #policies = new Map<string, readonly KubeObject[]>();
  /** UIDs of Jobs that this server removed. */
  readonly #removedJobs = new Set<string>();
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

  #authorityFiles(): string[] {
    const bundle = this.#options.outbound?.caBundle !== undefined;
    return [...(this.tls || bundle ? [AUTHORITY_FILE] : []), ...(bundle ? [BUNDLE_FILE] : [])];
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
    const jobOf = (round: number): KubeObject =>
      batchJob({
        pinned: (named, policy) => this.pins.of(named, policy),
        tls: this.tls,
        outbound: this.#options.outbound,
        programs: programSource,
        batch,
        round,
        namespace: cluster.namespace,
        pods: withDefaults(submission.pods ?? {}, this.#options.defaults),
        sizing,
        scratch: scratchOf(submission, plan.attached),
        image,
        pullPolicy,
        settled: plan.settled,
        fruitless: plan.fruitless,
      });
    let job = await this.#createOrFind(jobOf(plan.round), signal);
    // Another program's Job keeps its name, and the batch takes the next one.
    for (let round = plan.round + 1; !isOfBatch(job, batch); round++) {
      const next = jobOf(round);
      const text = `Job ${job.metadata.name} belongs to another program. The batch uses ${next.metadata.name}.`;
      this.#options.host.log(text, { level: 'warning', batch });
      job = await this.#createOrFind(next, signal);
    }
    const { name, uid } = job.metadata;
    if (uid !== undefined) await this.write(batch, submission, sizing.slots, ownerOf({ name, uid }), signal);
    return job;
  }

  async #createOrFind(object: KubeObject, signal: AbortSignal): Promise<Job> {
    const { cluster } = this.#options;
    try {
      return readObject('Job', await cluster.create(object, { signal }));
    } catch (error) {
      if (!StudioError.is(error, 'conflict')) throw error;
      const existing = await cluster.get('Job', object.metadata.name, { signal });
      if (existing === undefined) throw error;
      return existing;
    }
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
      this.#apply(batch, batchConfigMap(options, programSource), signal),
      this.#apply(
        batch,
        batchSecret(options, worker, secrets, sidecarVariables(submission.pods ?? {}), {
          authority: this.#options.authority,
          caBundle: this.#options.outbound?.caBundle,
        }),
        signal,
      ),
    ]);
  }

  /** Applies an object of a batch; throws `conflict` if another program has its name. */
  async #apply(batch: string, object: KubeObject, signal: AbortSignal): Promise<void> {
    const accept = (existing: KubeObject): void => requireOwn(existing, batch, this.#options.cluster.namespace);
    await this.#options.cluster.apply(object, { signal, accept, force: true });
  }

  /**
   * Returns the objects that pods of the batch need, as `Kind name`, and that are missing or lack content. Throws
   * `conflict` if another program has one of the names.
   */
  async missing(batch: string, signal: AbortSignal): Promise<string[]> {
    const { cluster, programSource } = this.#options;
    const name = batchName(batch);
    const policies = (this.#policies.get(batch) ?? []).map(({ metadata }) => metadata.name);
    const needed = [
      { kind: 'ConfigMap', name, keys: programSource === 'image' ? [] : [BOOTSTRAP_FILE] },
      { kind: 'Secret', name, keys: [WORKER_FILE, SECRETS_FILE, ...this.#authorityFiles()] },
      ...policies.map((policy) => ({ kind: 'NetworkPolicy', name: policy, keys: [] }) as const),
    ] as const;
    const missing: string[] = [];
    for (const each of needed) {
      const found: KubeObject | undefined = await cluster.get(each.kind, each.name, { signal });
      if (found !== undefined) requireOwn(found, batch, cluster.namespace);
      const content = values.safeParse(found?.['data'] ?? {}).data ?? {};
      if (found !== undefined && each.keys.every((key) => Object.hasOwn(content, key))) continue;
      missing.push(`${each.kind} ${each.name}`);
      if (each.kind === 'NetworkPolicy') this.#policies.delete(batch);
    }
    return missing;
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
    const { host } = this.#options;
    const { batch } = options;
    try {
      const rules = await this.#network.rules(submission, secrets, [host.url, ...(host.others ?? [])]);
      const policies = batchPolicies(batch, rules, (name) => belongingMetadata(options, name));
      if (isDeepStrictEqual(policies, this.#policies.get(batch))) return;
      for (const policy of policies) await this.#apply(batch, policy, signal);
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
    await this.#removeOwn('Secret', batchName(batch), batch, signal);
    this.#policies.delete(batch);
    if (!all) return;
    await this.#removeOwn('ConfigMap', batchName(batch), batch, signal);
    for (const name of Object.values(policyNames(batch)))
      await this.#removeOwn('NetworkPolicy', name, batch, signal).catch((error: unknown) => {
        if (!StudioError.is(error, 'forbidden')) throw error;
      });
  }

  /** Removes an object of a batch, but not one of another program with its name. */
  async #removeOwn(kind: Kind, name: string, batch: string, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    const found: KubeObject | undefined = await cluster.get(kind, name, { signal });
    if (found !== undefined && isOfBatch(found, batch))
      await cluster.remove(kind, name, { uid: found.metadata.uid, signal });
  }

  /** Returns whether this server removed a Job. */
  hasRemoved(uid: string): boolean {
    return this.#removedJobs.has(uid);
  }

  async removeJob({ name, uid }: Round, signal: AbortSignal): Promise<void> {
    this.#removedJobs.add(uid);
    await this.#options.cluster.remove('Job', name, { uid, propagation: 'Background', signal });
  }

  /**
   * Removes the pods of a Job, or lets it create them again, with other sizes if there are some. This does not count as
   * failures of the Job.
   */
  async setReleased({ name }: Round, released: boolean, signal: AbortSignal, size?: JobSize): Promise<Job> {
    const annotations = { [NOTE.released]: released ? 'true' : null };
    const sizes = size === undefined ? {} : { parallelism: size.parallelism, completions: size.completions };
    return this.#options.cluster.patch(
      'Job',
      name,
      { metadata: { annotations }, spec: { suspend: released, ...sizes } },
      { signal },
    );
  }

  /** Changes how many pods a Job has. */
  async resize({ name }: Round, { parallelism, completions }: JobSize, signal: AbortSignal): Promise<Job> {
    return this.#options.cluster.patch('Job', name, { spec: { parallelism, completions } }, { signal });
  }

  /** Returns the secrets in the batch's Secret. */
  async secrets(batch: string, signal: AbortSignal): Promise<Record<string, string> | undefined> {
    const secret = await this.#options.cluster.get('Secret', batchName(batch), { signal });
    const stored = secret !== undefined && isOfBatch(secret, batch) ? secret.data?.[SECRETS_FILE] : undefined;
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
      throw new StudioError(
        'unavailable',
        `The values of ${missing.join(', ')} are lost: neither the batch's Secret nor the server has them.`,
        { hint: `Send them again from where they are set, with rollout resume ${batch}.`, details: { missing } },
      );
    }
    return found;
  }
}

/** Throws `conflict` if an object with the name of an object of a batch is another program's. */
function requireOwn(existing: KubeObject, batch: string, namespace: string): void {
  if (isOfBatch(existing, batch)) return;
  const { kind, metadata } = existing;
  throw new StudioError(
    'conflict',
    `The ${kind} ${metadata.name} in namespace ${namespace} belongs to another program, and the batch needs this name.`,
    {
      hint: `If nobody needs it, remove it with kubectl delete ${kind.toLowerCase()} ${metadata.name} -n ${namespace}`,
      details: { reason: FOREIGN },
    },
  );
}

/** The reason of errors about objects of other programs. */
export const FOREIGN = 'Foreign';

/** Returns the owner reference of a Job, for the objects its pods need. */
export function ownerOf({ name, uid }: Pick<Round, 'name' | 'uid'>): OwnerReference {
  return { apiVersion: KINDS.Job.apiVersion, kind: 'Job', name, uid };
}
