/** A temporary environment for tool calls outside of rollouts, with separate threads, processes, and a folder. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { allowedEnvironment } from '../common/environment.ts';
import { DEFAULT_SANDBOX, type SubmittedSandbox } from '../config/submission.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { createToolPools } from '../tools/pools.ts';
import { Reaper } from '../worker/reaper/reaper.ts';
import { removeWorkerFolder } from '../worker/run/workDirectory.ts';

const CLOSE_MS = 500;

export type MakeEnvironment = (
  cwd: string,
  options?: { readonly onLog?: (text: string) => void; readonly sandbox?: SubmittedSandbox | undefined },
) => ToolEnvironment & { readonly own: Map<string, Uint8Array> };

/**
 * Runs a function with an environment that is always removed afterwards. `readBlob` reads the blobs that are not in
 * `own`. `work`: the path of the folder for working directories.
 */
export async function withTemporaryEnvironment<T>(
  readBlob: (sha: string, signal?: AbortSignal) => Promise<Uint8Array>,
  run: (environment: MakeEnvironment, work: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-call-'));
  const work = path.join(folder, 'rollouts');
  const reaper = new Reaper();
  reaper.addFolder(folder);
  const pools = createToolPools({
    directory: path.join(folder, 'bundles'),
    work,
    env: allowedEnvironment(process.env),
    processGroups: reaper,
  });
  const own = new Map<string, Uint8Array>();
  try {
    await mkdir(work, { mode: 0o700 });
    return await run(
      (cwd, { onLog, sandbox = DEFAULT_SANDBOX } = {}) => ({
        cwd,
        pools,
        own,
        sandbox,
        readBlob: async (sha, signal) => own.get(sha) ?? readBlob(sha, signal),
        ...(onLog === undefined ? {} : { onLog: (_stream: string, text: string) => onLog(text) }),
      }),
      work,
    );
  } finally {
    await pools.close();
    await reaper.close(CLOSE_MS);
    await removeWorkerFolder(folder);
  }
}
