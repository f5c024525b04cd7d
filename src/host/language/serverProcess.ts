/** Runs the language server as a child process with the same runtime, connected by IPC. */
import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type * as vscode from 'vscode';
import { IPCMessageReader, IPCMessageWriter, type MessageTransports } from 'vscode-languageclient/node';
import { entryUrl, LONG_RUNNING } from '../../common/entries.ts';

export class ServerProcess {
  readonly #log: vscode.LogOutputChannel;
  #child: ChildProcess | undefined;

  constructor(log: vscode.LogOutputChannel) {
    this.#log = log;
  }

  /** Starts a new process, with `variables` besides those of this one. Kills the previous one if it still runs. */
  start(variables: Readonly<Record<string, string>>): MessageTransports {
    this.end();
    const child = fork(fileURLToPath(entryUrl('language')), ['--node-ipc', `--clientProcessId=${process.pid}`], {
      execArgv: [...LONG_RUNNING],
      silent: true,
      env: { ...process.env, ...variables, ELECTRON_RUN_AS_NODE: '1', ELECTRON_NO_ASAR: '1' },
    });
    this.#child = child;
    this.#log.info(`The language server runs as process ${child.pid ?? 0}.`);
    for (const output of [child.stdout, child.stderr]) {
      if (output !== null)
        createInterface({ input: output }).on('line', (line) => this.#log.info(`language server: ${line}`));
    }
    child.once('error', (error) => this.#log.error(error, 'language server'));
    child.once('exit', (code, signal) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#log.warn(`The language server ended (${signal ?? `code ${code}`}).`);
    });
    // Killed by us, so the exit is expected.
    return { reader: new IPCMessageReader(child), writer: new IPCMessageWriter(child), detached: true };
  }

  end(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill();
  }
}
