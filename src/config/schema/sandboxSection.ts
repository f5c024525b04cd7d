/** The `sandbox` of a batch: where modules, and the programs that tools start, run. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { choice, expects, flag, listOf, path } from './values.ts';

export const SANDBOX_MODES = ['off', 'on', 'required'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];
export const MODULE_PROCESSES = ['shared', 'separate'] as const;

const mode = choice(SANDBOX_MODES);
const MODES =
  '`on`: in a sandbox where the machine has one. `required`: the batch does not start without one. `off`: with all ' +
  'rights of the user.';

const ADDRESS = 'Write a host with a port, such as localhost:5432, or a network, such as 10.1.0.0/16.';

const folders = z.strictObject({
  mode: mode.default(DEFAULTS.sandbox.mode).describe(MODES),
  network: z
    .union([flag, z.literal('filtered')], expects('true, false, or filtered', 'false'))
    .default(DEFAULTS.sandbox.network)
    .describe(
      'What the terminal, code, and browser tools reach. `filtered`: through a proxy, the public internet and what ' +
        '`allow` names. `true`: everything, including services of this machine, which the browser reaches only with ' +
        '`private_addresses: true`. `false`: nothing, also for modules and MCP commands.',
    ),
  allow: listOf(
    z.union([z.cidrv4(), z.cidrv6(), z.string().regex(/^[A-Za-z0-9.-]+:\d{1,5}$/)], ADDRESS),
    'a list of hosts with a port, and networks',
    '[localhost:5432, 10.1.0.0/16]',
  )
    .default([])
    .describe(
      'What `filtered` reaches in addition: hosts with a port, and networks. Ports of `localhost` are reached ' +
        'directly, everything else through the proxy.',
    ),
  read: listOf(path('../data/manuals'), 'a list of paths', '[../data/manuals]')
    .default([])
    .describe('Files and folders that modules and programs may read, relative to this file.'),
  write: listOf(path('../build'), 'a list of paths', '[../build]')
    .default([])
    .describe('Files and folders that modules and programs may also change, relative to this file.'),
  modules: choice(MODULE_PROCESSES)
    .default(DEFAULTS.sandbox.modules)
    .describe(
      'Processes of modules. `shared`: one for all rollouts of a worker. `separate`: one for each rollout, which ' +
        'sees only its own working directory.',
    ),
});

export const sandboxSection = z
  .union([mode, folders], expects('off, on, required, or a group of keys', 'required'))
  .describe(
    'Where modules (tools, worlds, scorers) and the programs that tools start (terminal, code, MCP commands) run. ' +
      MODES,
  );
