/** All tools of the MCP server, in listing order. */

import type { StudioTool } from './tool.ts';
import { checkWorkspace } from './tools/checkFiles.ts';
import { compareAttempts } from './tools/compareAttempts.ts';
import { pauseBatch, resumeBatch, stopBatch } from './tools/control.ts';
import { forkRollout } from './tools/forkRollout.ts';
import { labelAttempt } from './tools/labelAttempt.ts';
import { launchBatch } from './tools/launchBatch.ts';
import { listAttempts } from './tools/listAttempts.ts';
import { listBatches } from './tools/listBatches.ts';
import { readCall } from './tools/readCall.ts';
import { readTrajectory } from './tools/readTrajectory.ts';
import { rescoreBatch } from './tools/rescoreBatch.ts';
import { searchTrajectories } from './tools/searchTrajectories.ts';
import { showBatch } from './tools/showBatch.ts';
import { waitForBatch } from './tools/waitForBatch.ts';

const TOOLS: readonly StudioTool[] = [
  listBatches,
  showBatch,
  listAttempts,
  readTrajectory,
  readCall,
  searchTrajectories,
  compareAttempts,
  checkWorkspace,
  launchBatch,
  forkRollout,
  rescoreBatch,
  labelAttempt,
  waitForBatch,
  pauseBatch,
  resumeBatch,
  stopBatch,
];

/** Returns the offered tools. With `readOnly`, only tools that make no changes. */
export function toolsFor({ readOnly }: { readonly readOnly: boolean }): readonly StudioTool[] {
  return readOnly ? TOOLS.filter((tool) => tool.effect === 'read') : TOOLS;
}
