/** What users and queues have used: tokens of model calls, and CPUs and GPUs of pods. */

/** Whose batches used it. */
export interface UsageOwner {
  /** Empty where the server has no queues. */
  readonly queue: string;
  /** Empty: whoever has a client token. */
  readonly user: string;
}

export interface TokenUse extends UsageOwner {
  /** When the calls ended, ms since the epoch; counted by minute. */
  readonly at: number;
  readonly tokens: number;
}

/** A pod that runs or ran for a batch. */
export interface PodUse extends UsageOwner {
  readonly uid: string;
  readonly batch: string;
  /** The model of its agent. */
  readonly model: string;
  /** When it started, and until when it is known to have run. */
  readonly from: number;
  readonly until: number;
  /** CPUs and GPUs that it requested. */
  readonly cpus: number;
  readonly gpus: number;
}

export interface PodTotal extends UsageOwner {
  readonly model: string;
  readonly cpuSeconds: number;
  readonly gpuSeconds: number;
}

export interface UsageStore {
  /** Adds tokens to what was used. Forgets those of more than a day ago. */
  addTokens(uses: readonly TokenUse[]): Promise<void>;
  /** Returns the tokens that each owner used since a time, by whole minutes. */
  tokensSince(at: number): Promise<(UsageOwner & { readonly tokens: number })[]>;
  /** Records pods, and until when they ran. Never shortens what is recorded of a pod. */
  recordPods(pods: readonly PodUse[]): Promise<void>;
  /**
   * Returns CPU and GPU time by owner and model: of all pods, of those of a batch, or what lies after a time. That of
   * batches that were removed counts only without a batch and a time, that of copies, whose pods ran elsewhere, only
   * with a batch.
   */
  podTotals(of?: { readonly batch?: string; readonly since?: number }): Promise<PodTotal[]>;
}
