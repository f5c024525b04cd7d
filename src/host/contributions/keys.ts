/** Context keys that the commands go by, and what `when` clauses are made of. */
import { filePattern } from '../../common/fileKinds.ts';

export const CONTEXT_KEYS = {
  /** The store has a batch, as far as is known. */
  hasBatches: 'rollout.hasBatches',
  /** One of the newest batches runs, is paused, or has attempts lost to infrastructure. */
  hasRunning: 'rollout.hasRunning',
  hasPaused: 'rollout.hasPaused',
  hasUnsettled: 'rollout.hasUnsettled',
  /** The page of a batch, of a trajectory, or of all attempts at a task, is the active editor. */
  activeBatch: 'rollout.activeBatch',
  activeTrajectory: 'rollout.activeTrajectory',
  activeCompare: 'rollout.activeCompare',
  /** State of the active page's batch: open, running, paused, ended. */
  batchState: 'rollout.batchState',
} as const;

export const TRUSTED = 'isWorkspaceTrusted';
export const HAS_FOLDER = 'workspaceFolderCount != 0';
/** Not in a virtual workspace: what is launched is read from a disk. */
export const ON_DISK = '!virtualWorkspace';
export const BATCH_FILE = `resourceFilename =~ /${filePattern('batch')}/`;
export const AGENT_FILE = `resourceFilename =~ /${filePattern('agent')}/`;
/** Files that may hold tools: code, agent and world files. */
export const TOOL_FILE = `resourceFilename =~ /\\.[cm]?[jt]s$|${filePattern('agent', 'world')}/`;
/** Documents of recorded calls, and forms of calls to make. */
export const CALLS = 'resourceScheme == rollout-calls';
export const CALL_FORM = 'resourceScheme == rollout-call';
export const DATASET_FILE = 'resourceExtname == .jsonl';

/** A clause that holds when all of them do. */
export function all(...clauses: readonly string[]): string {
  return clauses.join(' && ');
}

/** A clause that holds when one of them does. */
export function any(...clauses: readonly string[]): string {
  return clauses.join(' || ');
}
