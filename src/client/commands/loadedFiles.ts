/** The agents, worlds, and batches of files on disk, loaded once for all checks of what they refer to. */
import { fileKind } from '../../common/fileKinds.ts';
import type { Files } from '../../config/files.ts';
import type { LoadedAgent } from '../../config/load/agent.ts';
import type { LoadedWorld } from '../../config/load/world.ts';
import { type LoadedBatch, loadAgent, loadBatch, loadWorld } from '../../config/load.ts';

/** One file, with the files that it runs. */
export interface LoadedFile {
  readonly agent?: LoadedAgent | undefined;
  readonly world?: LoadedWorld | undefined;
  readonly batch?: LoadedBatch;
}

/** Loads files. Skips those with errors. */
export async function loadFiles(files: Files, paths: readonly string[]): Promise<LoadedFile[]> {
  const loaded: LoadedFile[] = [];
  for (const path of paths) {
    const kind = fileKind(path);
    if (kind === 'agent') {
      const { value } = await loadAgent(files, path);
      if (value !== undefined) loaded.push({ agent: value });
    } else if (kind === 'world') {
      const { value } = await loadWorld(files, path);
      if (value !== undefined) loaded.push({ world: value });
    } else if (kind === 'batch') {
      const { value } = await loadBatch(files, path, { records: 1 });
      if (value !== undefined) loaded.push({ agent: value.agent, world: value.world, batch: value });
    }
  }
  return loaded;
}
