/** The `sandbox` of a batch: where the programs that tools start run. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { choice, expects, flag, listOf, path } from './values.ts';

export const SANDBOX_MODES = ['off', 'on', 'required'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

const mode = choice(SANDBOX_MODES);
const MODES =
  '`on`: in a sandbox where the machine has one. `required`: the batch does not start without one. `off`: with all ' +
  'rights of the user.';

const folders = z.strictObject({
  mode: mode.default(DEFAULTS.sandbox.mode).describe(MODES),
  network: flag.default(DEFAULTS.sandbox.network).describe('Whether programs can use the network.'),
  read: listOf(path('../data/manuals'), 'a list of paths', '[../data/manuals]')
    .default([])
    .describe('Files and folders that programs may read, relative to this file.'),
  write: listOf(path('../build'), 'a list of paths', '[../build]')
    .default([])
    .describe('Files and folders that programs may also change, relative to this file.'),
});

export const sandboxSection = z
  .union([mode, folders], expects('off, on, required, or a group of keys', 'required'))
  .describe(`Where the programs that tools start (terminal, code, MCP commands) run. ${MODES}`);
