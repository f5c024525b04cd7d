/** Opens published worlds, whatever their format. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { AGENT_WORLD_FOLDERS } from '../../formats/agentWorld.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import { AgentWorldFolder } from './agentWorldFolder.ts';
import { AwmFolder } from './awmFolder.ts';
import type { PublishedWorlds } from './worlds.ts';

/** Opens a folder, or that of a file. Throws StudioError `config` if there are no worlds. */
export async function openPublished(at: string, signal: AbortSignal): Promise<PublishedWorlds> {
  const folder = statSync(at, { throwIfNoEntry: false })?.isDirectory() === true ? at : path.dirname(at);
  if (AwmFolder.isIn(folder)) return await AwmFolder.open(folder, signal);
  if (AgentWorldFolder.isIn(folder)) return await AgentWorldFolder.open(folder, signal);
  throw new StudioError('config', `There are no published worlds in ${at}.`, {
    hint:
      `Name the folder that contains ${AWM_FILES.scenario} (Agent World Model) or ` +
      `${AGENT_WORLD_FOLDERS.environments} (Agent-World).`,
  });
}
