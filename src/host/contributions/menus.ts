/** Defines where and when each command appears. */
import { type CommandId } from './commands.ts';
import {
  AGENT_FILE,
  all,
  any,
  BATCH_FILE,
  CALL_FORM,
  CALLS,
  DATASET_FILE,
  HAS_FOLDER,
  CONTEXT_KEYS as KEY,
  ON_DISK,
  TOOL_FILE,
  TRUSTED,
} from './keys.ts';
import { DEBUG_TYPE, VIEW_IDS, VIEW_KEYS } from './names.ts';

interface MenuItem {
  readonly command: CommandId;
  readonly when: string;
  readonly group?: string;
}

const ANY_PAGE = any(KEY.activeBatch, KEY.activeTrajectory, KEY.activeCompare);

const DEBUGGING = `debugType == ${DEBUG_TYPE}`;

/** When the Command Palette shows a command; `false` for commands that require an argument. */
const PALETTE: Readonly<Record<CommandId, string>> = {
  'rollout.launchBatch': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.launchTask': all(TRUSTED, DATASET_FILE, ON_DISK),
  'rollout.launchAgain': all(TRUSTED, KEY.hasBatches),
  'rollout.runFailedAgain': all(TRUSTED, KEY.hasBatches),
  'rollout.retryUnsettled': all(TRUSTED, KEY.hasUnsettled),
  'rollout.rescoreBatch': all(TRUSTED, KEY.hasBatches, HAS_FOLDER, ON_DISK),
  'rollout.copyBatch': all(TRUSTED, KEY.hasBatches, VIEW_KEYS.targets),
  'rollout.compareWorld': all(TRUSTED, KEY.hasBatches, HAS_FOLDER, ON_DISK),
  'rollout.stopBatch': any(all(TRUSTED, KEY.hasRunning), all(TRUSTED, KEY.hasPaused)),
  'rollout.pauseBatch': all(TRUSTED, KEY.hasRunning),
  'rollout.releasePods': any(all(TRUSTED, KEY.hasRunning), all(TRUSTED, KEY.hasPaused)),
  'rollout.showPods': all(TRUSTED, KEY.hasBatches),
  'rollout.showPodLog': 'false',
  'rollout.showPodEvents': 'false',
  'rollout.resumeBatch': all(TRUSTED, KEY.hasPaused),
  'rollout.releaseAttempt': 'false',
  'rollout.openBatch': all(TRUSTED, KEY.hasBatches),
  'rollout.openTrajectory': all(TRUSTED, KEY.hasBatches),
  'rollout.compareAttempts': all(TRUSTED, KEY.hasBatches),
  'rollout.openTestAttempts': 'false',
  'rollout.compareBatches': all(TRUSTED, KEY.hasBatches),
  'rollout.debug': any(all(TRUSTED, KEY.hasBatches), all(TRUSTED, BATCH_FILE)),
  'rollout.attachDebugger': any(all(TRUSTED, KEY.hasRunning), all(TRUSTED, KEY.hasPaused)),
  'rollout.fork': all(TRUSTED, KEY.hasBatches),
  'rollout.labelAttempt': all(TRUSTED, KEY.hasBatches),
  'rollout.showCalls': all(TRUSTED, KEY.hasBatches, TOOL_FILE),
  'rollout.chooseToolBatch': all(TRUSTED, KEY.hasBatches, TOOL_FILE),
  'rollout.rerunCall': any(all(TRUSTED, KEY.activeTrajectory), all(TRUSTED, CALLS)),
  'rollout.predictCall': any(all(TRUSTED, KEY.activeTrajectory), all(TRUSTED, CALLS), all(TRUSTED, DEBUGGING)),
  'rollout.runCall': all(TRUSTED, CALL_FORM),
  'rollout.saveTestCase': any(all(TRUSTED, KEY.activeTrajectory), all(TRUSTED, CALLS), all(TRUSTED, CALL_FORM)),
  'rollout.tryTool': all(TRUSTED, ON_DISK),
  'rollout.addMcpServer': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.importOpenApi': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.import': TRUSTED,
  'rollout.createSample': TRUSTED,
  'rollout.createGaia': TRUSTED,
  'rollout.importAworld': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.showTeam': AGENT_FILE,
  'rollout.openWorld': HAS_FOLDER,
  'rollout.openWorldFile': 'false',
  'rollout.previewPrompt': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.measureContext': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.runWorld': all(TRUSTED, HAS_FOLDER, ON_DISK),
  'rollout.addWorld': all(TRUSTED, HAS_FOLDER),
  'rollout.newRecordedWorld': all(TRUSTED, KEY.hasBatches, HAS_FOLDER),
  'rollout.pickDemonstrations': all(TRUSTED, KEY.hasBatches, HAS_FOLDER, ON_DISK),
  'rollout.newAgent': HAS_FOLDER,
  'rollout.newTool': HAS_FOLDER,
  'rollout.newBatch': HAS_FOLDER,
  'rollout.showLog': 'true',
  'rollout.restartLanguageServer': 'true',
  'rollout.collectDiagnostics': 'true',
  'rollout.reviewAccess': TRUSTED,
  'rollout.startServer': all(TRUSTED, `${VIEW_KEYS.server} == stopped`),
  'rollout.addTarget': TRUSTED,
  'rollout.selectTarget': all(TRUSTED, VIEW_KEYS.targets),
  'rollout.useTarget': 'false',
  'rollout.removeTarget': all(TRUSTED, VIEW_KEYS.targets),
  'rollout.changeToken': all(TRUSTED, VIEW_KEYS.addresses),
  'rollout.installTarget': all(TRUSTED, VIEW_KEYS.clusters),
  'rollout.uninstallTarget': all(TRUSTED, VIEW_KEYS.clusters),
  'rollout.refresh': 'false',
  'rollout.exportAttempts': all(TRUSTED, KEY.hasBatches),
  'rollout.copyReference': ANY_PAGE,
  'rollout.forgetSecrets': TRUSTED,
};

const onAttempt = all(TRUSTED, 'webviewSection == rolloutAttempt');
const onWholeAttempt = all(onAttempt, '!isTrimmed');
const inView = (view: string): string => `view == ${view}`;
const inBatches = (item: string): string => all(inView(VIEW_IDS.batches), item);
const inWorlds = (item: string): string => all(inView(VIEW_IDS.worlds), item);
const SIMULATED = 'viewItem == world.simulated';
const inTargets = (item: string): string => all(inView(VIEW_IDS.targets), item);
const LIVE = 'viewItem =~ /^batch\\.(running|paused|open)$/';
const IDLE_TARGET = 'viewItem =~ /^target\\.\\w+\\.idle/';
const ANY_POD = 'viewItem =~ /^pod\\.(pod|process|gone)/';
const POD_WITH_LOG = 'viewItem =~ /^pod\\..*log$/';
const ANY_BATCH = 'viewItem =~ /^batch\\./';
const ENDED_BATCH = 'viewItem =~ /^batch\\.ended/';
// Without those whose trajectories were trimmed.
const WHOLE_BATCH = 'viewItem =~ /^batch\\.\\w+$/';
const WHOLE_ATTEMPT = 'viewItem =~ /^attempt(?!\\.trimmed)/';
const ANY_WHOLE = 'viewItem =~ /^(batch\\.\\w+$|task$|attempt(?!\\.trimmed))/';
const pageIs = (...states: readonly string[]): string =>
  all(TRUSTED, KEY.activeBatch, `${KEY.batchState} =~ /^(${states.join('|')})$/`);

export const menus: Readonly<Record<string, readonly MenuItem[]>> = {
  // keys of the record
  commandPalette: Object.entries(PALETTE).map(([command, when]) => ({ command: command as CommandId, when })),
  'explorer/context': [
    { command: 'rollout.launchBatch', when: all(TRUSTED, BATCH_FILE, ON_DISK), group: '2_rollout@1' },
  ],
  'editor/context': [
    { command: 'rollout.launchBatch', when: all(TRUSTED, BATCH_FILE, ON_DISK), group: '2_rollout@1' },
    { command: 'rollout.launchTask', when: all(TRUSTED, DATASET_FILE, ON_DISK), group: '2_rollout@1' },
    { command: 'rollout.showCalls', when: all(TRUSTED, KEY.hasBatches, TOOL_FILE), group: '2_rollout@2' },
    { command: 'rollout.tryTool', when: all(TRUSTED, TOOL_FILE, ON_DISK), group: '2_rollout@3' },
    { command: 'rollout.rerunCall', when: all(TRUSTED, CALLS), group: '2_rollout@1' },
    { command: 'rollout.predictCall', when: all(TRUSTED, CALLS), group: '2_rollout@1' },
    { command: 'rollout.saveTestCase', when: all(TRUSTED, CALLS), group: '2_rollout@2' },
  ],
  'editor/title/run': [
    { command: 'rollout.launchBatch', when: all(TRUSTED, BATCH_FILE, ON_DISK), group: '1_rollout@1' },
    { command: 'rollout.debug', when: all(TRUSTED, BATCH_FILE, ON_DISK), group: '1_rollout@2' },
    { command: 'rollout.tryTool', when: all(TRUSTED, AGENT_FILE, ON_DISK), group: '1_rollout@3' },
    { command: 'rollout.addMcpServer', when: all(TRUSTED, AGENT_FILE, ON_DISK), group: '1_rollout@4' },
  ],
  'editor/title': [
    { command: 'rollout.showTeam', when: AGENT_FILE, group: 'navigation@3' },
    { command: 'rollout.pauseBatch', when: pageIs('running', 'open'), group: 'navigation@1' },
    { command: 'rollout.resumeBatch', when: pageIs('paused'), group: 'navigation@1' },
    { command: 'rollout.stopBatch', when: pageIs('running', 'open', 'paused'), group: 'navigation@2' },
    { command: 'rollout.launchAgain', when: pageIs('ended'), group: 'navigation@1' },
    { command: 'rollout.runFailedAgain', when: pageIs('ended'), group: '1_rollout@1' },
    { command: 'rollout.releasePods', when: pageIs('running', 'open', 'paused'), group: '1_rollout@1' },
    { command: 'rollout.showPods', when: pageIs('running', 'open', 'paused', 'ended'), group: '1_rollout@6' },
    { command: 'rollout.retryUnsettled', when: pageIs('ended', 'running', 'paused'), group: '1_rollout@2' },
    { command: 'rollout.rescoreBatch', when: all(TRUSTED, KEY.activeBatch, HAS_FOLDER), group: '1_rollout@4' },
    {
      command: 'rollout.compareWorld',
      when: any(all(TRUSTED, KEY.activeBatch, HAS_FOLDER), all(TRUSTED, KEY.activeTrajectory, HAS_FOLDER)),
      group: '1_rollout@5',
    },
    { command: 'rollout.debug', when: all(TRUSTED, KEY.activeTrajectory), group: 'navigation@1' },
    { command: 'rollout.fork', when: all(TRUSTED, KEY.activeTrajectory), group: 'navigation@2' },
    { command: 'rollout.compareAttempts', when: all(TRUSTED, KEY.activeTrajectory), group: '1_rollout@1' },
    { command: 'rollout.compareBatches', when: all(TRUSTED, KEY.activeBatch), group: '1_rollout@3' },
    { command: 'rollout.rerunCall', when: all(TRUSTED, KEY.activeTrajectory), group: '1_rollout@2' },
    { command: 'rollout.predictCall', when: all(TRUSTED, KEY.activeTrajectory), group: '1_rollout@2' },
    { command: 'rollout.saveTestCase', when: all(TRUSTED, KEY.activeTrajectory), group: '1_rollout@3' },
    { command: 'rollout.labelAttempt', when: all(TRUSTED, KEY.activeTrajectory), group: '1_rollout@4' },
    { command: 'rollout.runCall', when: all(TRUSTED, CALL_FORM), group: 'navigation@1' },
    { command: 'rollout.saveTestCase', when: all(TRUSTED, CALL_FORM), group: 'navigation@2' },
    { command: 'rollout.copyReference', when: ANY_PAGE, group: '2_rollout@1' },
    { command: 'rollout.exportAttempts', when: all(TRUSTED, KEY.activeBatch), group: '2_rollout@2' },
  ],
  'debug/toolBar': [{ command: 'rollout.predictCall', when: all(TRUSTED, DEBUGGING), group: 'navigation@99' }],
  'view/title': [
    { command: 'rollout.launchBatch', when: all(TRUSTED, inView(VIEW_IDS.batches), HAS_FOLDER), group: 'navigation@1' },
    { command: 'rollout.refresh', when: all(TRUSTED, inView(VIEW_IDS.batches)), group: 'navigation@2' },
    { command: 'rollout.import', when: all(TRUSTED, inView(VIEW_IDS.batches)), group: '1_rollout@1' },
    {
      command: 'rollout.openTrajectory',
      when: all(TRUSTED, inView(VIEW_IDS.batches), KEY.hasBatches),
      group: '1_rollout@2',
    },
    { command: 'rollout.newBatch', when: all(inView(VIEW_IDS.batches), HAS_FOLDER), group: '2_rollout@1' },
    { command: 'rollout.newAgent', when: all(inView(VIEW_IDS.agents), HAS_FOLDER), group: 'navigation@1' },
    { command: 'rollout.newTool', when: all(inView(VIEW_IDS.agents), HAS_FOLDER), group: 'navigation@2' },
    { command: 'rollout.addMcpServer', when: all(TRUSTED, inView(VIEW_IDS.agents), HAS_FOLDER), group: '1_rollout@1' },
    { command: 'rollout.importOpenApi', when: all(TRUSTED, inView(VIEW_IDS.agents), HAS_FOLDER), group: '1_rollout@2' },
    { command: 'rollout.importAworld', when: all(TRUSTED, inView(VIEW_IDS.agents), HAS_FOLDER), group: '1_rollout@3' },
    { command: 'rollout.tryTool', when: all(TRUSTED, inView(VIEW_IDS.agents), HAS_FOLDER), group: '1_rollout@4' },
    {
      command: 'rollout.openWorld',
      when: all(inView(VIEW_IDS.worlds), VIEW_KEYS.worldFiles),
      group: 'navigation@1',
    },
    { command: 'rollout.addWorld', when: all(TRUSTED, inView(VIEW_IDS.worlds), HAS_FOLDER), group: 'navigation@2' },
    { command: 'rollout.refresh', when: inView(VIEW_IDS.worlds), group: 'navigation@3' },
    { command: 'rollout.addTarget', when: all(TRUSTED, inView(VIEW_IDS.targets)), group: 'navigation@1' },
    { command: 'rollout.refresh', when: all(TRUSTED, inView(VIEW_IDS.targets)), group: 'navigation@2' },
    {
      command: 'rollout.selectTarget',
      when: all(TRUSTED, inView(VIEW_IDS.targets), VIEW_KEYS.targets),
      group: '0_rollout@1',
    },
    { command: 'rollout.showLog', when: inView(VIEW_IDS.targets), group: '1_rollout@1' },
    { command: 'rollout.collectDiagnostics', when: inView(VIEW_IDS.targets), group: '1_rollout@2' },
    { command: 'rollout.forgetSecrets', when: all(TRUSTED, inView(VIEW_IDS.targets)), group: '1_rollout@3' },
  ],
  'testing/item/context': [
    { command: 'rollout.openTestAttempts', when: all(TRUSTED, 'controllerId == rollout'), group: 'inline@9' },
    { command: 'rollout.openTestAttempts', when: all(TRUSTED, 'controllerId == rollout'), group: '1_rollout@1' },
  ],
  // Context menu of an attempt in a batch page, which passes the attempt.
  'webview/context': [
    { command: 'rollout.openTrajectory', when: onAttempt, group: '1_open@1' },
    { command: 'rollout.debug', when: onWholeAttempt, group: '1_open@2' },
    { command: 'rollout.compareAttempts', when: onWholeAttempt, group: '1_open@3' },
    { command: 'rollout.labelAttempt', when: onAttempt, group: '2_label@1' },
    { command: 'rollout.fork', when: onWholeAttempt, group: '3_launch@1' },
    { command: 'rollout.copyReference', when: onAttempt, group: '9_copy@1' },
  ],
  'view/item/context': [
    { command: 'rollout.pauseBatch', when: inBatches('viewItem == batch.running'), group: 'inline@1' },
    { command: 'rollout.resumeBatch', when: inBatches('viewItem == batch.paused'), group: 'inline@1' },
    { command: 'rollout.stopBatch', when: inBatches(LIVE), group: 'inline@2' },
    { command: 'rollout.launchAgain', when: inBatches(ENDED_BATCH), group: 'inline@1' },
    { command: 'rollout.launchTask', when: inBatches('viewItem == task'), group: 'inline@1' },
    { command: 'rollout.releaseAttempt', when: inBatches('viewItem == attempt.held'), group: 'inline@1' },
    { command: 'rollout.releaseAttempt', when: inBatches('viewItem == attempt.held'), group: '2_control@1' },
    { command: 'rollout.openBatch', when: inBatches(ANY_BATCH), group: '1_open@1' },
    { command: 'rollout.showPods', when: inBatches(ANY_BATCH), group: '1_open@5' },
    { command: 'rollout.showPods', when: inBatches('viewItem == pods'), group: '1_open@1' },
    { command: 'rollout.showPodLog', when: inBatches(POD_WITH_LOG), group: 'inline@1' },
    { command: 'rollout.showPodLog', when: inBatches(POD_WITH_LOG), group: '1_open@1' },
    { command: 'rollout.showPodEvents', when: inBatches(ANY_POD), group: 'inline@2' },
    { command: 'rollout.showPodEvents', when: inBatches(ANY_POD), group: '1_open@2' },
    { command: 'rollout.openTrajectory', when: inBatches('viewItem =~ /^attempt/'), group: '1_open@1' },
    {
      command: 'rollout.compareAttempts',
      when: all(TRUSTED, inBatches('viewItem =~ /^(task$|attempt(?!\\.trimmed))/')),
      group: '1_open@3',
    },
    { command: 'rollout.compareBatches', when: all(TRUSTED, inBatches(ANY_BATCH)), group: '1_open@4' },
    { command: 'rollout.debug', when: inBatches(WHOLE_ATTEMPT), group: '1_open@2' },
    { command: 'rollout.attachDebugger', when: inBatches(LIVE), group: '1_open@2' },
    { command: 'rollout.labelAttempt', when: all(TRUSTED, inBatches('viewItem =~ /^attempt/')), group: '2_label@1' },
    { command: 'rollout.fork', when: inBatches(WHOLE_ATTEMPT), group: '3_launch@1' },
    { command: 'rollout.pauseBatch', when: inBatches('viewItem == batch.running'), group: '2_control@1' },
    { command: 'rollout.resumeBatch', when: inBatches('viewItem == batch.paused'), group: '2_control@1' },
    { command: 'rollout.releasePods', when: inBatches(LIVE), group: '2_control@2' },
    { command: 'rollout.stopBatch', when: inBatches(LIVE), group: '2_control@3' },
    { command: 'rollout.launchAgain', when: inBatches(ANY_BATCH), group: '3_launch@1' },
    { command: 'rollout.runFailedAgain', when: inBatches(ANY_BATCH), group: '3_launch@2' },
    { command: 'rollout.retryUnsettled', when: inBatches(WHOLE_BATCH), group: '3_launch@3' },
    { command: 'rollout.rescoreBatch', when: all(TRUSTED, inBatches(WHOLE_BATCH), HAS_FOLDER), group: '3_launch@4' },
    {
      command: 'rollout.copyBatch',
      when: all(TRUSTED, inBatches(ENDED_BATCH), VIEW_KEYS.targets),
      group: '4_data@1',
    },
    {
      command: 'rollout.newRecordedWorld',
      when: all(TRUSTED, inBatches(ANY_WHOLE), HAS_FOLDER),
      group: '3_launch@5',
    },
    {
      command: 'rollout.compareWorld',
      when: all(TRUSTED, inBatches(ANY_WHOLE), HAS_FOLDER),
      group: '3_launch@6',
    },
    { command: 'rollout.launchTask', when: inBatches('viewItem == task'), group: '3_launch@1' },
    { command: 'rollout.openWorldFile', when: inWorlds('viewItem =~ /^world(\\.|$)/'), group: 'inline@1' },
    { command: 'rollout.runWorld', when: all(TRUSTED, inWorlds('viewItem =~ /^world(\\.|$)/')), group: 'inline@2' },
    { command: 'rollout.openWorldFile', when: inWorlds('viewItem =~ /^(world|scenario)/'), group: '1_open@1' },
    { command: 'rollout.previewPrompt', when: all(TRUSTED, inWorlds(SIMULATED)), group: '1_open@2' },
    { command: 'rollout.measureContext', when: all(TRUSTED, inWorlds(SIMULATED)), group: '1_open@3' },
    {
      command: 'rollout.pickDemonstrations',
      when: all(TRUSTED, KEY.hasBatches, inWorlds(SIMULATED)),
      group: '2_edit@1',
    },
    {
      command: 'rollout.runWorld',
      when: all(TRUSTED, inWorlds('viewItem =~ /^(world|scenario)/')),
      group: '3_launch@1',
    },
    {
      command: 'rollout.compareWorld',
      when: all(TRUSTED, inWorlds('viewItem =~ /^world(\\.|$)/'), KEY.hasBatches),
      group: '3_launch@2',
    },
    { command: 'rollout.useTarget', when: inTargets(IDLE_TARGET), group: 'inline@1' },
    { command: 'rollout.startServer', when: inTargets('viewItem == target.local.used.stopped'), group: 'inline@1' },
    {
      command: 'rollout.installTarget',
      when: inTargets(
        'viewItem =~ /^(target\\.cluster\\.\\w+\\.(missing|unknown)|finding\\.(server|namespace)\\.missing)$/',
      ),
      group: 'inline@2',
    },
    { command: 'rollout.useTarget', when: inTargets(IDLE_TARGET), group: '1_use@1' },
    { command: 'rollout.installTarget', when: inTargets('viewItem =~ /^target\\.cluster\\./'), group: '2_install@1' },
    {
      command: 'rollout.uninstallTarget',
      when: inTargets('viewItem =~ /^target\\.cluster\\.\\w+\\.(installed|unknown)$/'),
      group: '2_install@2',
    },
    { command: 'rollout.changeToken', when: inTargets('viewItem =~ /^target\\.url\\./'), group: '2_install@3' },
    {
      command: 'rollout.removeTarget',
      when: inTargets('viewItem =~ /^target\\.(cluster|url)\\./'),
      group: '3_remove@1',
    },
    { command: 'rollout.exportAttempts', when: all(TRUSTED, inBatches(ANY_BATCH)), group: '9_copy@2' },
    { command: 'rollout.copyReference', when: inBatches('viewItem =~ /^(batch\\.|task|attempt)/'), group: '9_copy@1' },
  ],
};
