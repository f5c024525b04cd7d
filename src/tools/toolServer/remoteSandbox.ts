/** Programs of tools in another container: the third kind of sandbox, next to those of Linux and macOS. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../common/entries.ts';
import type { SubmittedSandbox } from '../../config/submission.ts';
import type { ToolServer } from '../processes/processGroups.ts';
import type { ProgramToStart, Sandbox, View } from '../sandbox/sandbox.ts';
import type { ToolClient } from './client.ts';
import { RemoteProcess } from './remoteProcess.ts';

export class RemoteTools implements ToolServer {
  readonly #client: ToolClient;
  readonly #socket: string;

  /** `socket`: where browsers connect as well. */
  constructor(client: ToolClient, socket: string) {
    this.#client = client;
    this.#socket = socket;
  }

  async openSandbox({ mode }: Pick<SubmittedSandbox, 'mode'>, view: View, owner: string): Promise<Sandbox> {
    const sandbox = randomUUID();
    const { network, scratch } = view;
    await this.#client.request({
      type: 'open',
      sandbox,
      mode,
      owner,
      view: {
        own: [...(view.own ?? [])],
        write: [...view.write],
        read: [...view.read],
        hide: [...view.hide],
        caches: [...view.caches],
        network: typeof network === 'boolean' ? network : { allow: [...network.allow] },
      },
    });
    // Programs have theirs in the other container.
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    return {
      ownProcesses: true,
      env: {},
      spawn: (program) => this.#spawn(program, sandbox),
      command: ({ file, args, cwd }) => ({
        file: process.execPath,
        args: [fileURLToPath(entryUrl('toolRelay')), this.#socket, sandbox, owner, cwd, file, ...args],
      }),
      end: async () => {
        await this.#client.request({ type: 'close', sandbox }).catch(() => undefined); // it ended with the server
        await rm(scratch, { recursive: true, force: true });
      },
    };
  }

  async endStrays(owner: string): Promise<void> {
    await this.#client.request({ type: 'endStrays', owner }).catch(() => undefined); // they end with the server
  }

  async clear(folder: string): Promise<void> {
    await this.#client.request({ type: 'clear', folder }).catch(() => undefined); // the folder ends with the pod
  }

  #spawn({ file, args, cwd, env, limits, owner, messages }: ProgramToStart, sandbox: string): RemoteProcess {
    const { memory_mb, cpu_seconds, file_mb } = limits ?? {};
    let child: RemoteProcess | undefined;
    this.#client.start(
      {
        sandbox,
        file,
        args: [...args],
        cwd,
        env: { ...env },
        limits: { memory_mb, cpu_seconds, file_mb },
        owner,
        messages,
        commands: false,
      },
      (link) => (child = new RemoteProcess(link)),
    );
    if (child === undefined) throw new Error('The program has no process.');
    return child;
  }
}
