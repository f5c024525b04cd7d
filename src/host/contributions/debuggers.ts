/** Contributes the debugger: its type, configuration attributes, and breakpoint languages. */

import { DEBUG_TYPE, TRAJECTORY_LANGUAGE } from './names.ts';

const store = {
  type: 'string',
  description: 'The store: a folder or `postgres://…`. Default: the store in the settings.',
};
const stopOnEntry = { type: 'boolean', description: 'Stop at the start of the rollout.' };

/** Attributes that identify a recorded rollout. */
const recorded = {
  rollout: { type: 'string', description: 'ID of a rollout.' },
  task: { type: 'string', description: 'ID of a task.' },
  attempt: {
    type: 'integer',
    minimum: 1,
    default: 1,
    description: 'Attempt of the task. Live: 1 to 8, with the seed that this attempt has in any batch.',
  },
  step: { type: 'integer', minimum: 0, description: 'Step to start the replay at.' },
  seq: { type: 'integer', minimum: 1, description: 'Event to start the replay at.' },
};

const LIVE = {
  type: DEBUG_TYPE,
  request: 'launch',
  mode: 'live',
  name: 'Debug an attempt',
  batch: '${file}',
  stopOnEntry: true,
};
const REPLAY = { type: DEBUG_TYPE, request: 'launch', mode: 'replay', name: 'Replay a rollout', rollout: '' };
const ATTACH = { type: DEBUG_TYPE, request: 'attach', name: 'Attach to a batch', batch: 'last' };

const snippet = (label: string, description: string, body: object): object => ({
  label: `Rollout: ${label}`,
  description,
  body,
});

export const debuggers = [
  {
    type: DEBUG_TYPE,
    label: 'Rollout',
    // YAML: F5 on a batch file. In other YAML files, a message says what can be debugged.
    languages: [TRAJECTORY_LANGUAGE, 'yaml'],
    configurationAttributes: {
      launch: {
        required: ['mode'],
        properties: {
          mode: {
            enum: ['live', 'replay'],
            enumDescriptions: ['Runs one attempt and stops at breakpoints.', 'Steps through a recording.'],
            description: 'Run an attempt, or step through a recorded one.',
          },
          batch: { type: 'string', description: 'Live: a batch file. Replay: ID of a batch, or `last`.' },
          ...recorded,
          stopOnEntry,
          store,
        },
      },
      attach: {
        properties: {
          rollout: { type: 'string', description: 'ID of a running rollout.' },
          batch: {
            type: 'string',
            description: 'ID of a running batch, or `last`. Each held rollout is a thread.',
          },
          stopOnEntry,
          store,
        },
      },
    },
    initialConfigurations: [LIVE],
    configurationSnippets: [
      snippet('Debug an attempt', 'Runs one attempt of a task of a batch file and stops at breakpoints.', {
        ...LIVE,
        batch: '^"\\${workspaceFolder}/${1:batches/first.batch.yaml}"',
        task: '${2:task}',
      }),
      snippet('Replay a rollout', 'Steps through a recorded rollout, forward and back.', {
        ...REPLAY,
        rollout: '${1:rollout}',
      }),
      snippet('Attach to a batch', 'Shows every held rollout of a running batch as a thread.', {
        ...ATTACH,
        batch: '${1:last}',
      }),
    ],
  },
];

export const breakpoints = ['typescript', 'javascript', 'yaml', TRAJECTORY_LANGUAGE].map((language) => ({ language }));

export const languages = [
  {
    id: TRAJECTORY_LANGUAGE,
    aliases: ['Trajectory'],
    extensions: ['.trajectory'],
    configuration: './media/languages/trajectory.json',
  },
];

export const grammars = [
  { language: TRAJECTORY_LANGUAGE, scopeName: 'text.trajectory', path: './media/languages/trajectory.tmLanguage.json' },
];
