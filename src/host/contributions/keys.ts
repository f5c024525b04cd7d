/** Context keys of the commands, and helpers for `when` clauses. */
import { filePattern } from '../../common/fileKinds.ts';

export const CONTEXT_KEYS = {
  /** Whether the store is known to have a batch. */
  hasBatches: 'rollout.hasBatches',
  /** Whether one of the newest batches is running, is paused, or lost attempts to infrastructure. */
  hasRunning: 'rollout.hasRunning',
  hasPaused: 'rollout.hasPaused',
  hasUnsettled: 'rollout.hasUnsettled',
  /** The kind of the active page: a batch, a trajectory, or all attempts of a task. */
  activeBatch: 'rollout.activeBatch',
  activeTrajectory: 'rollout.activeTrajectory',
  activeCompare: 'rollout.activeCompare',
  /** State of the active page's batch: open, running, paused, or ended. */
  batchState: 'rollout.batchState',
  /** Whether the user may do that at the server: `yes`, or `no`. Not set while that is unknown. */
  canLaunch: 'rollout.canLaunch',
  canControl: 'rollout.canControl',
  canAdminister: 'rollout.canAdminister',
} as const;

/** Until the server said what the user may do, nothing is disabled. */
export const MAY_LAUNCH = `${CONTEXT_KEYS.canLaunch} != no`;
export const MAY_CONTROL = `${CONTEXT_KEYS.canControl} != no`;

export const TRUSTED = 'isWorkspaceTrusted';
export const HAS_FOLDER = 'workspaceFolderCount != 0';
/** Not in a virtual workspace, because launching reads files from disk. */
export const ON_DISK = '!virtualWorkspace';
export const BATCH_FILE = `resourceFilename =~ /${filePattern('batch')}/`;
export const AGENT_FILE = `resourceFilename =~ /${filePattern('agent')}/`;
/** Files that can define tools: code, agent, and world files. */
export const TOOL_FILE = `resourceFilename =~ /\\.[cm]?[jt]s$|${filePattern('agent', 'world')}/`;
/** Documents that list recorded calls, and forms to repeat calls. */
export const CALLS = 'resourceScheme == rollout-calls';
export const CALL_FORM = 'resourceScheme == rollout-call';
export const DATASET_FILE = 'resourceExtname == .jsonl';

/** Joins clauses with AND. */
export function all(...clauses: readonly string[]): string {
  return clauses.join(' && ');
}

/** Joins clauses with OR. */
export function any(...clauses: readonly string[]): string {
  return clauses.join(' || ');
}
