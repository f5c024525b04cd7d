/** The driven session of a World page, in a process of its own. */
import { errorText, type StudioError } from '../../../common/errors.ts';
import { type DriveMessage, type DriveRequest, driveMessage } from '../../../protocol/drive.ts';
import type { LineProcess } from '../../server/cliLines.ts';
import type { LineCli } from '../../services.ts';

interface DriveEvents {
  message(message: DriveMessage): void;
  /** The session has ended. `text`: why, unless it was closed. */
  ended(text: string | undefined): void;
  log(text: string): void;
}

export class DrivenWorld {
  readonly #cli: LineCli;
  readonly #events: DriveEvents;
  #process: LineProcess | undefined;
  /** Counts the sessions, to ignore what an earlier one says. */
  #session = 0;

  constructor(cli: LineCli, events: DriveEvents) {
    this.#cli = cli;
    this.#events = events;
  }

  /** Opens a session in place of the one that is open. `tasks`: options that say which tasks there are. */
  async open(world: string, tasks: readonly string[], task: string | undefined, cwd: string): Promise<void> {
    this.#stop();
    const session = this.#session;
    const isCurrent = (): boolean => session === this.#session;
    const args = ['world', 'drive', world, ...tasks, ...(task === undefined ? [] : ['--task', task])];
    const started = await this.#cli.lines(args, {
      cwd,
      listener: {
        onLine: (line) => {
          if (isCurrent()) this.#handle(line);
        },
        onEnd: (error) => {
          if (isCurrent()) this.#end(error);
        },
      },
    });
    if (isCurrent()) this.#process = started;
    else started.stop();
  }

  send(request: DriveRequest): void {
    this.#process?.send(JSON.stringify(request));
  }

  close(): void {
    const isOpen = this.#process !== undefined;
    this.#stop();
    if (isOpen) this.#events.ended(undefined);
  }

  /** Ends the session without reporting it. */
  dispose(): void {
    this.#stop();
  }

  #stop(): void {
    this.#session += 1;
    this.#process?.stop();
    this.#process = undefined;
  }

  #end(error: StudioError | undefined): void {
    this.#process = undefined;
    this.#events.ended(error === undefined ? undefined : errorText(error));
  }

  #handle(line: string): void {
    try {
      this.#events.message(driveMessage.parse(JSON.parse(line)));
    } catch (error) {
      this.#events.log(`invalid line of a driven world: ${errorText(error)}`);
    }
  }
}
