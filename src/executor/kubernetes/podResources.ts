/** What the pods of a batch request and may use, unless the installation or the batch says so. Pure. */

import type { WorkerPods } from '../../config/schema/placement.ts';
import type { SubmittedPods } from '../../config/submission.ts';
import type { Amount, Scratch } from './scratch.ts';

type Amounts = Readonly<Record<string, string>>;

interface Resources {
  readonly requests?: Amounts | undefined;
  readonly limits?: Amounts | undefined;
}

/** An amount for the pod, and one for each of its concurrent rollouts: millicores, or MiB. */
type Share = Amount;

/**
 * Requests are what a node must have free, so they are what most batches use; limits protect the node from a few.
 * CPU has no limit: a busy pod may use what others leave. The disk is limited by the sizes of the volumes.
 */
const DEFAULTS = {
  worker: {
    requests: {
      cpu: { base: 50, each: 5 },
      memory: { base: 128, each: 8 },
      'ephemeral-storage': { base: 128, each: 0 },
    },
    limits: { memory: { base: 1024, each: 32 } },
  },
  tools: {
    requests: {
      cpu: { base: 100, each: 25 },
      memory: { base: 128, each: 32 },
      'ephemeral-storage': { base: 256, each: 32 },
    },
    limits: { memory: { base: 4096, each: 256 } },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<'requests' | 'limits', Readonly<Record<string, Share>>>>>>;

/** Sizes of volumes, MiB: the files of rollouts and what their programs write elsewhere, each, without attachments. */
const WORK: Share = { base: 4096, each: 384 };
/** What the worker requests besides its tools if the batch says what those need. */
const WORKER_REQUESTS: Amounts = { cpu: '50m', memory: '64Mi' };
/** GPUs and the like are for tools. */
const WORKER_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];

/** Returns the settings of a batch's pods, with those of the installation where it has none. */
export function withDefaults(pods: SubmittedPods, defaults: WorkerPods = {}): SubmittedPods {
  // The ServiceAccount of workers has the Secrets.
  const { image_pull_secrets: _, ...all } = defaults;
  const merged = (key: 'labels' | 'annotations' | 'requests' | 'limits'): object =>
    all[key] === undefined && pods[key] === undefined ? {} : { [key]: { ...all[key], ...pods[key] } };
  return {
    ...all,
    ...pods,
    ...merged('labels'),
    ...merged('annotations'),
    ...merged('requests'),
    ...merged('limits'),
  };
}

/** Returns the resources of the container that runs the programs of tools. `slots`: concurrent rollouts. */
export function toolResources({ requests, limits }: SubmittedPods, slots: number, scratch?: Scratch): Resources {
  const { requests: usual } = DEFAULTS.tools;
  const disk = sum(usual['ephemeral-storage'], scratch?.request);
  const defaults = { ...DEFAULTS.tools, requests: { ...usual, 'ephemeral-storage': disk } };
  return resources({ requests, limits }, defaults, slots);
}

/** Returns the resources of the worker: the limits of the batch hold for it too, but it requests little. */
export function workerResources({ requests, limits }: SubmittedPods, slots: number): Resources {
  const own = Object.fromEntries(Object.entries(limits ?? {}).filter(([name]) => WORKER_RESOURCES.includes(name)));
  const named = requests === undefined && limits === undefined;
  return resources({ requests: named ? undefined : WORKER_REQUESTS, limits: own }, DEFAULTS.worker, slots);
}

/** Returns the size of a volume for the files of rollouts, unless the batch limits its disk space. */
export function workLimit({ limits }: SubmittedPods, slots: number, scratch?: Amount): string {
  return limits?.['ephemeral-storage'] ?? mebibytes(sum(WORK, scratch), slots);
}

function sum(usual: Share, { base, each }: Share = { base: 0, each: 0 }): Share {
  return { base: usual.base + base, each: usual.each + each };
}

/** Adds the defaults of each resource of which neither a request nor a limit is given. */
function resources(
  { requests = {}, limits = {} }: Resources,
  defaults: Readonly<Record<'requests' | 'limits', Readonly<Record<string, Share>>>>,
  slots: number,
): Resources {
  const isGiven = (name: string): boolean => Object.hasOwn(requests, name) || Object.hasOwn(limits, name);
  const amounts = (kind: 'requests' | 'limits', given: Amounts): Amounts => ({
    ...Object.fromEntries(
      Object.entries<Share>(defaults[kind]).flatMap(([name, share]) =>
        isGiven(name) ? [] : [[name, name === 'cpu' ? `${of(share, slots)}m` : mebibytes(share, slots)]],
      ),
    ),
    ...given,
  });
  return { requests: amounts('requests', requests), limits: amounts('limits', limits) };
}

function of({ base, each }: Share, slots: number): number {
  return base + each * slots;
}

function mebibytes(share: Share, slots: number): string {
  const amount = of(share, slots);
  return amount % 1024 === 0 ? `${amount / 1024}Gi` : `${amount}Mi`;
}
