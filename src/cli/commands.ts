/** All CLI commands, in the order of the help. A process loads only the module of the command that it runs. */

import type { Command, Option } from './command.ts';

const LOADERS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['init', async (): Promise<Command> => (await import('./commands/init.ts')).init],
  ['check', async (): Promise<Command> => (await import('./commands/check.ts')).check],
  ['run', async (): Promise<Command> => (await import('./commands/run.ts')).run],
  ['batches', async (): Promise<Command> => (await import('./commands/batches.ts')).batches],
  ['show', async (): Promise<Command> => (await import('./commands/show.ts')).show],
  ['report', async (): Promise<Command> => (await import('./commands/report.ts')).report],
  ['tools', async (): Promise<Command> => (await import('./commands/tools.ts')).tools],
  ['compare', async (): Promise<Command> => (await import('./commands/compare.ts')).compare],
  ['tail', async (): Promise<Command> => (await import('./commands/tail.ts')).tail],
  ['view', async (): Promise<Command> => (await import('./commands/view.ts')).view],
  ['import', async (): Promise<Command> => (await import('./commands/import.ts')).importFiles],
  ['groups', async (): Promise<Command> => (await import('./commands/groups.ts')).groups],
  ['gym', async (): Promise<Command> => (await import('./commands/gym.ts')).gym],
  ['export', async (): Promise<Command> => (await import('./commands/export.ts')).exportAttempts],
  ['fork', async (): Promise<Command> => (await import('./commands/fork.ts')).fork],
  ['rescore', async (): Promise<Command> => (await import('./commands/rescore.ts')).rescore],
  ['label', async (): Promise<Command> => (await import('./commands/label.ts')).label],
  ['agreement', async (): Promise<Command> => (await import('./commands/agreement.ts')).agreement],
  ['call', async (): Promise<Command> => (await import('./commands/call.ts')).call],
  ['agent', async (): Promise<Command> => (await import('./commands/agent.ts')).agent],
  ['tool', async (): Promise<Command> => (await import('./commands/tool.ts')).tool],
  ['world', async (): Promise<Command> => (await import('./commands/world.ts')).world],
  ['test', async (): Promise<Command> => (await import('./commands/test.ts')).test],
  ['cancel', async (): Promise<Command> => (await import('./commands/control.ts')).cancel],
  ['pause', async (): Promise<Command> => (await import('./commands/control.ts')).pause],
  ['resume', async (): Promise<Command> => (await import('./commands/control.ts')).resume],
  ['retry', async (): Promise<Command> => (await import('./commands/control.ts')).retry],
  ['pods', async (): Promise<Command> => (await import('./commands/pods.ts')).pods],
  ['queue', async (): Promise<Command> => (await import('./commands/queue.ts')).queue],
  ['share', async (): Promise<Command> => (await import('./commands/share.ts')).share],
  ['audit', async (): Promise<Command> => (await import('./commands/audit.ts')).audit],
  ['endpoint', async (): Promise<Command> => (await import('./commands/endpoint.ts')).endpoint],
  ['target', async (): Promise<Command> => (await import('./commands/target.ts')).target],
  ['cluster', async (): Promise<Command> => (await import('./commands/cluster.ts')).cluster],
  ['serve', async (): Promise<Command> => (await import('./commands/serve.ts')).serve],
  ['dap', async (): Promise<Command> => (await import('./commands/dap.ts')).dap],
  ['lsp', async (): Promise<Command> => (await import('./commands/lsp.ts')).lsp],
  ['mcp', async (): Promise<Command> => (await import('./commands/mcp.ts')).mcp],
  ['backup', async (): Promise<Command> => (await import('./commands/backup.ts')).backup],
  ['restore', async (): Promise<Command> => (await import('./commands/restore.ts')).restore],
  ['copy', async (): Promise<Command> => (await import('./commands/copy.ts')).copy],
  ['gc', async (): Promise<Command> => (await import('./commands/gc.ts')).gc],
  ['doctor', async (): Promise<Command> => (await import('./commands/doctor.ts')).doctor],
]);

export const COMMAND_NAMES: readonly string[] = [...LOADERS.keys()];

/** Returns undefined if there is no such command. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  return LOADERS.get(name)?.();
}

export function allCommands(): Promise<Command[]> {
  return Promise.all([...LOADERS.values()].map((load) => load()));
}

/** Options that every command accepts. */
export const GLOBAL_OPTIONS: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', text: 'print only one JSON document to stdout' },
  store: { type: 'string', value: 'DIR|URL', text: 'store to use: a folder or postgres://…' },
  target: { type: 'string', value: 'NAME', text: 'where rollouts run: local, or a target from `rollout target list`' },
  help: { type: 'boolean', short: 'h', text: 'show this help' },
};
