/** All CLI commands, in the order of the help. */

import type { Command, Option } from './command.ts';
import { agent } from './commands/agent.ts';
import { batches } from './commands/batches.ts';
import { call } from './commands/call.ts';
import { check } from './commands/check.ts';
import { cluster } from './commands/cluster.ts';
import { compare } from './commands/compare.ts';
import { cancel, pause, resume, retry } from './commands/control.ts';
import { dap } from './commands/dap.ts';
import { doctor } from './commands/doctor.ts';
import { fork } from './commands/fork.ts';
import { gc } from './commands/gc.ts';
import { importFiles } from './commands/import.ts';
import { init } from './commands/init.ts';
import { lsp } from './commands/lsp.ts';
import { mcp } from './commands/mcp.ts';
import { report } from './commands/report.ts';
import { run } from './commands/run.ts';
import { serve } from './commands/serve.ts';
import { show } from './commands/show.ts';
import { tail } from './commands/tail.ts';
import { target } from './commands/target.ts';
import { test } from './commands/test.ts';
import { tool } from './commands/tool.ts';
import { tools } from './commands/tools.ts';
import { view } from './commands/view.ts';

export const COMMANDS: readonly Command[] = [
  init,
  check,
  run,
  batches,
  show,
  report,
  tools,
  compare,
  tail,
  view,
  importFiles,
  fork,
  call,
  agent,
  tool,
  test,
  cancel,
  pause,
  resume,
  retry,
  target,
  cluster,
  serve,
  dap,
  lsp,
  mcp,
  gc,
  doctor,
];

/** Options that every command accepts. */
export const GLOBAL_OPTIONS: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', text: 'print only one JSON document to stdout' },
  store: { type: 'string', value: 'DIR|URL', text: 'store to use: a folder or postgres://…' },
  target: { type: 'string', value: 'NAME', text: 'where rollouts run: local, or a target from `rollout target list`' },
  help: { type: 'boolean', short: 'h', text: 'show this help' },
};
