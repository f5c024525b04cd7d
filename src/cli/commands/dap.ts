import path from 'node:path';
import { launchFork, planForkAt } from '../../client/commands/fork.ts';
import { connect } from '../../client/connect.ts';
import { launchHeld } from '../../client/launchHeld.ts';
import { readBatch } from '../../client/submitFile.ts';
import { wsSocket } from '../../client/subscribe.ts';
import { checkTarget } from '../../client/targets/target.ts';
import { RolloutDebugAdapter } from '../../debug/adapter.ts';
import type { ServerLink } from '../../debug/rollout.ts';
import { ENTRY } from '../../protocol/entry.ts';
import { type Command, STDIO_OPTION } from '../command.ts';
import type { Context } from '../context.ts';

/** Who holds a rollout, if the editor does not say its name. */
const NAME = 'rollout dap';

export const dap: Command = {
  name: 'dap',
  usage: '',
  text:
    'Starts a Debug Adapter Protocol server on stdin and stdout, for editors other than VS Code, where the adapter ' +
    'is built in.',
  options: STDIO_OPTION,
  async run(context) {
    const adapter = new RolloutDebugAdapter({
      nameIn: (client) => (client === undefined ? NAME : `debugger in ${client}`),
      ownDocuments: false,
      folders: [context.cwd],
      connect: async (store, signal) => (await linkTo(context, store, signal)).link,
      launch: async ({ file, task, attempt, store, by }, signal) => {
        const { connection } = await linkTo(context, store, signal);
        const { built, target } = await readBatch(path.resolve(context.cwd, file), context, context.env, {
          attempts: attempt,
          allTasks: true,
          connect: () => Promise.resolve(connection.api),
          signal,
          ...(context.target === undefined ? {} : { target: context.target }),
          ...(task === undefined ? { limit: 1 } : { tasks: [task] }),
        });
        checkTarget(file, target, context.target);
        return launchHeld(connection.api, built, attempt, by, signal);
      },
      fork: async ({ rollout, seq, edits, acceptIrreversible, runs, store, by }, signal) => {
        const { api } = (await linkTo(context, store, signal)).connection;
        const planned = await planForkAt(api, rollout, seq, runs, context, signal);
        const { batch, warnings } = await launchFork(
          api,
          planned,
          { edit: edits, acceptIrreversible, debug: true, breakpoints: [{ ...ENTRY, by }], by },
          context.env,
          signal,
        );
        return { batch, differs: planned.runs.differs, warnings };
      },
    });
    const closed = new Promise<void>((resolve) => {
      adapter.onClosed.event(() => resolve());
    });
    context.signal.addEventListener('abort', () => adapter.shutdown(), { once: true });
    adapter.start(process.stdin, process.stdout);
    await closed;
    process.stdin.destroy(); // otherwise a client that keeps the pipe open keeps this process alive
    return 0;
  },
};

async function linkTo(
  context: Context,
  store: string | undefined,
  signal: AbortSignal,
): Promise<{ link: ServerLink; connection: Awaited<ReturnType<typeof connect>> }> {
  const connection =
    store === undefined ? await context.connect() : await connect({ store, signal, onNotice: context.log });
  return {
    connection,
    link: {
      api: connection.api,
      openSocket: wsSocket(() => connection.address()),
      reconnect: (stop) => connection.reconnect(stop),
    },
  };
}
