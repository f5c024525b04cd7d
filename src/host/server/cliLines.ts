/** A running `rollout` command that reads and writes lines. Does not depend on VS Code. */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { errorText, StudioError } from '../../common/errors.ts';

export interface LineProcess {
  send(line: string): void;
  /** Ends its input; if it does not exit by itself, it is killed. */
  stop(): void;
}

export interface LineListener {
  onLine(line: string): void;
  /** Called once. `error`: why it did not end by itself. */
  onEnd(error: StudioError | undefined): void;
}

/** `stopTimeoutMs`: how long to wait for it to exit. */
export function lineProcess(child: ChildProcess, listener: LineListener, stopTimeoutMs: number): LineProcess {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null)
    throw new StudioError('internal', 'The rollout command has no input or output.');
  const errors: string[] = [];
  let killTimer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let hasEnded = false;
  const end = (error: StudioError | undefined): void => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(killTimer);
    listener.onEnd(isStopped ? undefined : error);
  };
  stdin.on('error', () => undefined); // it has exited, which is reported below
  createInterface({ input: stdout }).on('line', (line) => listener.onLine(line));
  createInterface({ input: stderr }).on('line', (line) => errors.push(line));
  child.once('error', (cause) =>
    end(new StudioError('internal', `Cannot start the rollout command: ${errorText(cause)}.`, { cause })),
  );
  child.once('close', (code) => {
    const [last = 'See the log for details.'] = errors.slice(-1);
    end(code === 0 ? undefined : new StudioError('unavailable', last.replace(/^rollout: /, '')));
  });
  return {
    send: (line) => void stdin.write(`${line}\n`),
    stop: () => {
      isStopped = true;
      stdin.end();
      killTimer ??= setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    },
  };
}
