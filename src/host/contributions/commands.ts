/**
 * All commands with ID, title, and icon. `menus.ts` defines where they appear. Commands that ask where to launch are
 * enabled even if the window's server refuses it.
 */
import { MAY_CONTROL, MAY_LAUNCH } from './keys.ts';

const CATEGORY = 'Rollout';

interface CommandRow {
  readonly title: string;
  /** A codicon for toolbars and tree rows. */
  readonly icon?: string;
  /** When the command is enabled; elsewhere it is shown, and cannot be run. */
  readonly enablement?: string;
}

export const COMMANDS = {
  'rollout.launchBatch': { title: 'Launch Batch…', icon: 'play' },
  'rollout.launchTask': { title: 'Launch on This Task', icon: 'play' },
  'rollout.launchAgain': { title: 'Launch Again', icon: 'debug-rerun', enablement: MAY_LAUNCH },
  'rollout.runFailedAgain': { title: 'Run Failed Again', icon: 'run-errors', enablement: MAY_LAUNCH },
  'rollout.retryUnsettled': { title: 'Retry Unsettled', icon: 'issue-reopened', enablement: MAY_CONTROL },
  'rollout.rescoreBatch': { title: 'Rescore Batch…', icon: 'law', enablement: MAY_LAUNCH },
  'rollout.copyBatch': { title: 'Copy to Target…', icon: 'cloud-upload' },
  'rollout.compareWorld': { title: 'Compare World with Recording…', icon: 'beaker', enablement: MAY_LAUNCH },
  'rollout.stopBatch': { title: 'Stop', icon: 'debug-stop', enablement: MAY_CONTROL },
  'rollout.pauseBatch': { title: 'Pause', icon: 'debug-pause', enablement: MAY_CONTROL },
  'rollout.releasePods': { title: 'Pause and Release Pods', icon: 'debug-disconnect', enablement: MAY_CONTROL },
  'rollout.showPods': { title: 'Show Pods…', icon: 'server-process' },
  'rollout.showPodLog': { title: 'Show Log of Pod', icon: 'output' },
  'rollout.showPodEvents': { title: 'Show Events of Pod', icon: 'list-unordered' },
  'rollout.resumeBatch': { title: 'Resume', icon: 'debug-continue', enablement: MAY_CONTROL },
  'rollout.releaseAttempt': { title: 'Release', icon: 'debug-continue', enablement: MAY_CONTROL },
  'rollout.openBatch': { title: 'Open Batch…', icon: 'table' },
  'rollout.openTrajectory': { title: 'Open Trajectory…', icon: 'go-to-file' },
  'rollout.compareAttempts': { title: 'Compare Attempts…', icon: 'diff' },
  'rollout.compareBatches': { title: 'Compare Batches…', icon: 'diff' },
  'rollout.openTestAttempts': { title: 'Open Attempts', icon: 'table' },
  'rollout.debug': { title: 'Debug', icon: 'debug-alt' },
  'rollout.attachDebugger': { title: 'Attach Debugger…', icon: 'debug-alt', enablement: MAY_CONTROL },
  'rollout.fork': { title: 'Fork…', icon: 'repo-forked', enablement: MAY_LAUNCH },
  'rollout.labelAttempt': { title: 'Label Attempt…', icon: 'tag', enablement: MAY_CONTROL },
  'rollout.showCalls': { title: 'Show Calls of Tool', icon: 'list-tree' },
  'rollout.chooseToolBatch': { title: 'Choose Batch for Tool Statistics…', icon: 'history' },
  'rollout.rerunCall': { title: 'Re-run This Call', icon: 'debug-rerun' },
  'rollout.predictCall': { title: 'Predict Call…', icon: 'lightbulb' },
  'rollout.runCall': { title: 'Run Call', icon: 'play' },
  'rollout.saveTestCase': { title: 'Save Call as Test Case', icon: 'beaker' },
  'rollout.tryTool': { title: 'Try Tool…', icon: 'beaker' },
  'rollout.addMcpServer': { title: 'Add MCP Server…', icon: 'plug' },
  'rollout.importOpenApi': { title: 'Import Tools from OpenAPI…', icon: 'cloud-download' },
  'rollout.import': { title: 'Import…', icon: 'cloud-download', enablement: MAY_LAUNCH },
  'rollout.createSample': { title: 'Create Sample Workspace' },
  'rollout.createGaia': { title: 'Create GAIA Workspace' },
  'rollout.importAworld': { title: 'Import Agents from AWorld…', icon: 'cloud-download' },
  'rollout.showTeam': { title: 'Show Team', icon: 'type-hierarchy' },
  'rollout.openWorld': { title: 'Open World…', icon: 'search' },
  'rollout.openWorldFile': { title: 'Open World File', icon: 'go-to-file' },
  'rollout.previewPrompt': { title: 'Preview World Prompt', icon: 'open-preview' },
  'rollout.measureContext': { title: 'Measure Context of World', icon: 'dashboard' },
  'rollout.runWorld': { title: 'Run Batch on World…', icon: 'play' },
  'rollout.addWorld': { title: 'Add World…', icon: 'add' },
  'rollout.newRecordedWorld': { title: 'New World from Recording…', icon: 'globe' },
  'rollout.pickDemonstrations': { title: 'Pick Demonstrations…', icon: 'list-selection' },
  'rollout.newAgent': { title: 'New Agent…', icon: 'add' },
  'rollout.newTool': { title: 'New Tool…', icon: 'tools' },
  'rollout.newBatch': { title: 'New Batch…', icon: 'new-file' },
  'rollout.showLog': { title: 'Show Log', icon: 'output' },
  'rollout.restartLanguageServer': { title: 'Restart Language Server', icon: 'refresh' },
  'rollout.reviewAccess': { title: 'Review Workspace Access…', icon: 'shield' },
  'rollout.collectDiagnostics': { title: 'Collect Diagnostics' },
  'rollout.startServer': { title: 'Start Server', icon: 'debug-start' },
  'rollout.addTarget': { title: 'Add Target…', icon: 'add' },
  'rollout.selectTarget': { title: 'Select Target…', icon: 'target' },
  'rollout.useTarget': { title: 'Use This Target', icon: 'check' },
  'rollout.removeTarget': { title: 'Remove Target…', icon: 'remove' },
  'rollout.changeToken': { title: 'Change Token of Target…', icon: 'key' },
  'rollout.installTarget': { title: 'Install on Target…', icon: 'cloud-upload' },
  'rollout.uninstallTarget': { title: 'Uninstall from Target…', icon: 'trash' },
  'rollout.refresh': { title: 'Refresh', icon: 'refresh' },
  'rollout.exportAttempts': { title: 'Export…', icon: 'export' },
  'rollout.copyReference': { title: 'Copy Reference', icon: 'copy' },
  'rollout.forgetSecrets': { title: 'Forget Stored Values' },
} as const satisfies Readonly<Record<string, CommandRow>>;

export type CommandId = keyof typeof COMMANDS;

/** Returns the commands in the format of the manifest. */
export const commands = Object.entries(COMMANDS).map(([command, row]: [string, CommandRow]) => ({
  command,
  title: row.title,
  category: CATEGORY,
  ...(row.icon === undefined ? {} : { icon: `$(${row.icon})` }),
  ...(row.enablement === undefined ? {} : { enablement: row.enablement }),
}));
