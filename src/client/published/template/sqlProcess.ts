/** Runs SQL of others in a child process, one request after another. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cancelled } from '../../../common/abort.ts';
import { entryUrl } from '../../../common/entries.ts';
import { allowedEnvironment } from '../../../common/environment.ts';
import { StudioError } from '../../../common/errors.ts';

const failed = z.object({ failure: z.string() });

export class SqlProcess implements Disposable {
  readonly #maxMs: number;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;

  /** `maxMs`: the longest time for one request. */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** Throws StudioError `config` if it takes too long or fails, and the reason of the signal. */
  async ask<T>(request: object, answer: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw cancelled(signal);
    const child = (this.#child ??= start());
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const lines = createInterface({ input: child.stdout });
    const timer = setTimeout(
      () => reject(new StudioError('config', `its statements took more than ${this.#maxMs / 1000} s`)),
      this.#maxMs,
    );
    const onAbort = (): void => reject(cancelled(signal));
    const onEnd = (): void => reject(new StudioError('config', 'the process that ran its statements ended'));
    signal.addEventListener('abort', onAbort, { once: true });
    lines.once('line', resolve);
    child.once('close', onEnd).once('error', reject);
    child.stdin.write(`${JSON.stringify(request)}\n`);
    try {
      const reply: unknown = JSON.parse(await promise);
      const failure = failed.safeParse(reply);
      if (failure.success) throw new StudioError('config', failure.data.failure);
      return answer.parse(reply);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      lines.close();
      child.off('close', onEnd).off('error', reject);
    }
  }

  /** Ends the process. The next request starts another one. */
  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

function start(): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', fileURLToPath(entryUrl('template'))],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      windowsHide: true,
      // In VS Code, execPath is Electron: this makes it run as plain Node.js.
      env: { ...allowedEnvironment(process.env), ELECTRON_RUN_AS_NODE: '1', TZ: 'UTC' },
    },
  );
  child.on('error', () => undefined); // see `ask`
  child.stdin.on('error', () => undefined); // its end is reported
  return child;
}
