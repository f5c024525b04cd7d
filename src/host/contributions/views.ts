/** The activity bar views and their welcome content. */
import { VIEW_IDS, VIEW_KEYS } from './names.ts';

const VIEW_CONTAINER = 'rollout';

export const viewsContainers = {
  activitybar: [{ id: VIEW_CONTAINER, title: 'Rollout', icon: 'media/icons/activity.svg' }],
} as const;

export const views = {
  [VIEW_CONTAINER]: [
    { id: VIEW_IDS.batches, name: 'Batches', icon: 'media/icons/activity.svg', contextualTitle: 'Rollout Batches' },
    {
      id: VIEW_IDS.agents,
      name: 'Agents and Tools',
      icon: 'media/icons/activity.svg',
      contextualTitle: 'Rollout Agents and Tools',
    },
    { id: VIEW_IDS.worlds, name: 'Worlds', icon: 'media/icons/activity.svg', contextualTitle: 'Rollout Worlds' },
    {
      id: VIEW_IDS.targets,
      name: 'Targets',
      icon: 'media/icons/activity.svg',
      contextualTitle: 'Rollout Targets',
      visibility: 'collapsed',
    },
  ],
} as const;

const TRUSTED = 'isWorkspaceTrusted';
const RESTRICTED = '!isWorkspaceTrusted';
const NO_FOLDER = 'workspaceFolderCount == 0';
const FOLDER = 'workspaceFolderCount != 0 && !virtualWorkspace';
const VIRTUAL = 'virtualWorkspace';
const STOPPED = `${VIEW_KEYS.server} == stopped`;
const NOT_STOPPED = `${VIEW_KEYS.server} != stopped`;

const RESTRICTED_TEXT =
  'This window is in Restricted Mode: files can be edited and checked, but nothing runs.\n[Manage Workspace ' +
  'Trust](command:workbench.trust.manage)';

export const viewsWelcome = [
  { view: VIEW_IDS.batches, when: RESTRICTED, contents: RESTRICTED_TEXT },
  {
    view: VIEW_IDS.batches,
    when: `${TRUSTED} && ${STOPPED}`,
    contents:
      'The rollout server is not running. Your batches are saved. Start the server to see them.\n[Start ' +
      'Server](command:rollout.startServer)\n[Show Log](command:rollout.showLog)',
  },
  {
    view: VIEW_IDS.batches,
    when: `${TRUSTED} && ${NOT_STOPPED} && ${NO_FOLDER}`,
    contents:
      'A batch runs an agent on the tasks of a dataset, several times each.\n[Create Sample ' +
      'Workspace](command:rollout.createSample)\n[Open Folder](command:vscode.openFolder)\nYou can also import ' +
      'results from other tools.\n[Import…](command:rollout.import)',
  },
  {
    view: VIEW_IDS.batches,
    when: `${TRUSTED} && ${NOT_STOPPED} && ${FOLDER} && ${VIEW_KEYS.noBatchFiles}`,
    contents:
      'This workspace has no batch file yet.\n[Create Sample Workspace](command:rollout.createSample)\n[New ' +
      'Batch…](command:rollout.newBatch)\nYou can also import results from other ' +
      'tools.\n[Import…](command:rollout.import)',
  },
  {
    view: VIEW_IDS.batches,
    when: `${TRUSTED} && ${NOT_STOPPED} && ${FOLDER} && ${VIEW_KEYS.batchFiles}`,
    contents:
      'No batches yet.\n[Launch Batch…](command:rollout.launchBatch)\nYou can also import results from other ' +
      'tools.\n[Import…](command:rollout.import)',
  },
  {
    view: VIEW_IDS.batches,
    when: `${TRUSTED} && ${NOT_STOPPED} && ${VIRTUAL}`,
    contents:
      'This is a virtual workspace: you can edit agents and batches here. To launch them, open a folder on ' +
      'disk.\n[Open Folder](command:vscode.openFolder)\nYou can also import results from other ' +
      'tools.\n[Import…](command:rollout.import)',
  },
  {
    view: VIEW_IDS.agents,
    when: NO_FOLDER,
    contents: 'Open a folder to see its agents and their tools.\n[Open Folder](command:vscode.openFolder)',
  },
  {
    view: VIEW_IDS.agents,
    when: `workspaceFolderCount != 0 && ${VIEW_KEYS.noAgentFiles}`,
    contents: 'This workspace has no agent file (*.agent.yaml) yet.\n[New Agent…](command:rollout.newAgent)',
  },
  {
    view: VIEW_IDS.worlds,
    when: NO_FOLDER,
    contents: 'Open a folder to see its worlds.\n[Open Folder](command:vscode.openFolder)',
  },
  {
    view: VIEW_IDS.worlds,
    when: `workspaceFolderCount != 0 && ${VIEW_KEYS.noWorldFiles}`,
    contents:
      'This workspace has no world file (*.world.yaml) yet. A world answers the calls of an agent and judges what it ' +
      'left behind.\n[Add World…](command:rollout.addWorld)',
  },
  { view: VIEW_IDS.targets, when: RESTRICTED, contents: RESTRICTED_TEXT },
  {
    view: VIEW_IDS.targets,
    when: TRUSTED,
    contents:
      'No server is running for this store. It starts when you launch or open something.\n[Start ' +
      'Server](command:rollout.startServer)\nBatches can also run on a Kubernetes cluster.\n[Add ' +
      'Target…](command:rollout.addTarget)',
  },
] as const;
