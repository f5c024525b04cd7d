/** Recognizes errors which mean that the machine has too little of something: a fault of nothing that runs on it. */

/** Open files, processes, threads, memory, and disk space. */
const CODES: ReadonlySet<unknown> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'ENOSPC',
  'EDQUOT',
  'ERR_WORKER_INIT_FAILED',
]);

/** Returns the code of a shortage that caused an error; undefined if there is none. */
export function shortageOf(thrown: unknown): string | undefined {
  const seen = new Set<unknown>();
  for (let next = thrown; next instanceof Error && !seen.has(next); next = next.cause) {
    seen.add(next);
    if ('code' in next && typeof next.code === 'string' && CODES.has(next.code)) return next.code;
  }
  return undefined;
}
