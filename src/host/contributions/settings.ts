/** All settings by topic. */

export const DEFAULTS = {
  store: '',
  target: '',
  kubeconfig: '',
  'launch.openPage': true,
  'launch.confirmAbove': 500,
  'launch.sandbox': 'on',
  'view.batchesLimit': 50,
  'language.askEndpoints': true,
  'language.tokenHints': true,
  'tools.codeLens': true,
  'tools.errorMarks': true,
  'tools.inlayHints': false,
} as const;

export type SettingName = keyof typeof DEFAULTS;

/** Prefix of all setting names. */
export const SECTION = 'rollout';

interface SettingRow {
  readonly type: 'string' | 'boolean' | 'integer';
  readonly markdownDescription: string;
  readonly scope: 'machine' | 'machine-overridable' | 'window' | 'resource';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

const TOPICS: readonly { readonly title: string; readonly settings: Partial<Record<SettingName, SettingRow>> }[] = [
  {
    title: 'Store',
    settings: {
      target: {
        type: 'string',
        scope: 'machine-overridable',
        markdownDescription:
          'The target that this window uses: the name of a cluster or server that was added with *Rollout: Add ' +
          'Target…*. When empty or `local`, it is this machine, with the store below. A target in the settings of a ' +
          'workspace is used only after you allow it.',
      },
      kubeconfig: {
        type: 'string',
        // A kubeconfig can start programs, so a workspace must not choose it.
        scope: 'machine',
        markdownDescription:
          'The kubeconfig file with the contexts of your clusters; several are separated as in `KUBECONFIG`. When ' +
          'empty, `KUBECONFIG` is used, then `~/.kube/config`. In remote windows (SSH, Dev Containers, WSL), it is a ' +
          'file of the remote machine.',
      },
      store: {
        type: 'string',
        scope: 'machine-overridable',
        markdownDescription:
          'Where batches and trajectories are stored: a folder, or a PostgreSQL URL ' +
          '(`postgres://user@host/database`). When empty, the environment variable `ROLLOUT_STORE` is used, then ' +
          'a folder in your user data that the `rollout` command shares. Put the password in `PGPASSWORD` or ' +
          'a `.pgpass` file, not here. A store in the settings of a workspace is used only after you allow it.',
      },
    },
  },
  {
    title: 'Launch',
    settings: {
      'launch.openPage': {
        type: 'boolean',
        scope: 'window',
        markdownDescription: 'Open the batch page when a batch is launched.',
      },
      'launch.confirmAbove': {
        type: 'integer',
        scope: 'window',
        minimum: 0,
        markdownDescription:
          'Ask before launching a batch with more attempts (tasks times attempts) than this. `0` always asks.',
      },
      'launch.sandbox': {
        type: 'string',
        // A workspace must not turn it off for the user.
        scope: 'machine',
        enum: ['off', 'on', 'required'],
        markdownDescription:
          'Where the programs of tools (terminal, code, MCP commands) run if the batch file does not say it. `on`: ' +
          'in a sandbox where this machine has one. `required`: batches do not start without one. `off`: with all ' +
          'your rights.',
      },
    },
  },
  {
    title: 'Views',
    settings: {
      'view.batchesLimit': {
        type: 'integer',
        scope: 'window',
        minimum: 10,
        maximum: 500,
        markdownDescription: 'How many batches the Batches view loads at a time.',
      },
    },
  },
  {
    title: 'Language',
    settings: {
      'language.askEndpoints': {
        type: 'boolean',
        scope: 'window',
        markdownDescription:
          'Query the model servers in agent files for their models and, if supported (for example, by vLLM), for ' +
          'the number of tokens in a prompt. You are asked once for each server before anything is sent. ' +
          'Disabled in Restricted Mode.',
      },
      'language.tokenHints': {
        type: 'boolean',
        scope: 'window',
        markdownDescription: 'Show the number of tokens after prompts, as counted by the model server or estimated.',
      },
    },
  },
  {
    title: 'Tools',
    settings: {
      'tools.codeLens': {
        type: 'boolean',
        scope: 'window',
        markdownDescription:
          'Show above each tool, in code and in agent files, a summary of its calls in the newest batch that used ' +
          'it; in extracted scenarios, which lines failed, and which stored verdicts an edited verifier changes.',
      },
      'tools.errorMarks': {
        type: 'boolean',
        scope: 'window',
        markdownDescription: 'Mark lines of code that threw in the newest batch.',
      },
      'tools.inlayHints': {
        type: 'boolean',
        scope: 'window',
        markdownDescription: 'Show the arguments and result of the last call after the parameters of a tool.',
      },
    },
  },
];

export const configuration = TOPICS.map(({ title, settings }, order) => ({
  title,
  order,
  properties: Object.fromEntries(
    Object.entries(settings).map(([name, row], index) => [
      `${SECTION}.${name}`,
      { ...row, default: DEFAULTS[name as SettingName], order: index }, // keys of the record
    ]),
  ),
}));
