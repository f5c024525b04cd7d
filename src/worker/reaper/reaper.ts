/** The worker's side of the reaper process (`reaperMain.ts`), which cleans up after the worker in any case. */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../common/entries.ts';
import type { ProcessGroups } from '../../tools/processes/processGroups.ts';
import { newOwner } from '../../tools/processes/strays.ts';

/** Maximum number of starts: a reaper that keeps dying is not restarted forever. */
const MAX_STARTS = 5;

export class Reaper implements ProcessGroups {
  readonly owner = newOwner();
  readonly #groups = new Set<number>();
  readonly #folders = new Set<string>();
  #child: ChildProcess | undefined;
  #starts = 0;
  #closed = false;

  constructor() {
    this.#start();
  }

  /** Registers the process group led by `pid`, which must end when the worker dies. */
  add(pid: number): void {
    this.#groups.add(pid);
    this.#write(`+${pid}`);
  }

  remove(pid: number): void {
    if (this.#groups.delete(pid)) this.#write(`-${pid}`);
  }

  /** Registers a folder that must be removed when the worker dies. Absolute, without line breaks. */
  addFolder(folder: string): void {
    this.#folders.add(folder);
    this.#write(`dir ${folder}`);
  }

  /** Makes the reaper clean up now. Resolves when it is done, or after `ms`. */
  async close(ms: number): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      child.stdin?.end();
    });
  }

  #start(): void {
    this.#starts++;
    // Its own session: a signal to the worker's group must not reach it.
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', fileURLToPath(entryUrl('reaper'))],
      {
        stdio: ['pipe', 'ignore', 'ignore'],
        detached: true,
        windowsHide: true,
      },
    );
    this.#child = child;
    child.unref();
    child.on('error', () => this.#again(child));
    child.on('exit', () => this.#again(child));
    // Writing to a dead reaper fails; its `exit` event reports the same.
    child.stdin.on('error', () => undefined);
    this.#write(`owner ${this.owner}`);
    for (const folder of this.#folders) this.#write(`dir ${folder}`);
    for (const pid of this.#groups) this.#write(`+${pid}`);
  }

  #again(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    if (!this.#closed && this.#starts < MAX_STARTS) this.#start();
  }

  #write(line: string): void {
    const stdin = this.#child?.stdin;
    if (stdin?.writable === true) stdin.write(`${line}\n`);
  }
}
