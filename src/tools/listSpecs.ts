/** Lists the tools of entries without a rollout and without a worker. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { abortable } from '../common/abort.ts';
import { allowedEnvironment } from '../common/environment.ts';
import { DEFAULT_SANDBOX, type SubmittedTools } from '../config/submission.ts';
import { removeTree } from '../disk/removeTree.ts';
import type { ToolSpec } from '../rollout/ports.ts';
import { openTools } from './hosts.ts';
import { createToolPools } from './pools.ts';
import { ownGroups } from './processes/ownGroups.ts';
import { RolloutProcesses } from './processes/processGroups.ts';

export interface ListingPlace {
  /** Folder that modules can read. */
  readonly root: string;
  /** Reads a bundle, or its source map. */
  readBlob(sha: string): Promise<Uint8Array>;
}

/**
 * Returns the tools of entries, whose secrets are resolved. Calls none of them. Servers start without a sandbox: no
 * model calls them, and one may install itself, which a sandbox would forget. Throws as `openTools`.
 */
export async function listSpecs(
  entries: readonly SubmittedTools[],
  place: ListingPlace,
  signal: AbortSignal,
): Promise<readonly ToolSpec[]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-list-'));
  const cwd = path.join(folder, 'work');
  const processes = new RolloutProcesses(ownGroups());
  const pools = createToolPools({
    directory: path.join(folder, 'bundles'),
    work: folder,
    env: allowedEnvironment(process.env),
    processGroups: processes,
  });
  const list = async (entry: SubmittedTools): Promise<readonly ToolSpec[]> => {
    const sandbox = {
      ...DEFAULT_SANDBOX,
      ...(entry.kind === 'mcp' ? { mode: 'off' as const } : { read: [place.root] }),
    };
    const host = await openTools([entry], { cwd, pools, sandbox, readBlob: (sha) => place.readBlob(sha) });
    const { specs } = host;
    await host.close();
    return specs;
  };
  try {
    await mkdir(cwd);
    return await abortable(
      Promise.all(entries.map(list)).then((specs) => specs.flat()),
      signal,
    );
  } finally {
    await pools.close();
    await processes.end();
    await removeTree(folder);
  }
}
