/** Decides how many worker processes a batch gets on this machine, and how many rollouts each runs. Pure. */

/** Rollouts per process. They wait for models and tools most of the time. */
const SLOTS_PER_WORKER = 64;

interface WorkerSizing {
  readonly workers: number;
  readonly slots: number;
}

/** `open`: rollouts queued or running. `cores`: processes that can run in parallel. */
export function sizeOf(concurrency: number | 'auto', open: number, cores: number): WorkerSizing {
  const most = Math.max(1, cores);
  const target = concurrency === 'auto' ? open : Math.min(concurrency, open);
  const workers = Math.min(most, Math.max(1, Math.ceil(target / SLOTS_PER_WORKER)));
  // A number set by the user is kept: with few cores, each process runs more rollouts.
  const slots =
    concurrency === 'auto'
      ? SLOTS_PER_WORKER
      : Math.ceil(concurrency / Math.min(most, Math.ceil(concurrency / SLOTS_PER_WORKER)));
  return { workers, slots };
}
