/** Builds templates in a child process, one after another. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cancelled } from '../../../common/abort.ts';
import { entryUrl } from '../../../common/entries.ts';
import { allowedEnvironment } from '../../../common/environment.ts';
import { StudioError } from '../../../common/errors.ts';
import { type TemplateRequest, type TemplateResult, templateResult } from './build.ts';

const reply = z.union([templateResult, z.object({ failure: z.string() })]);

/** The longest time for one template. */
const MAX_MS = 60_000;

export class TemplateBuilder {
  readonly #maxMs: number;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;

  constructor(maxMs = MAX_MS) {
    this.#maxMs = maxMs;
  }

  /** Throws StudioError `config` if it takes too long or cannot be built, and the reason of the signal. */
  async build(request: TemplateRequest, signal: AbortSignal): Promise<TemplateResult> {
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
      const answer = reply.parse(JSON.parse(await promise));
      if ('failure' in answer) throw new StudioError('config', answer.failure);
      return answer;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      lines.close();
      child.off('close', onEnd).off('error', reject);
    }
  }

  /** Ends the process. The next template starts another one. */
  close(): void {
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
  child.on('error', () => undefined); // see `build`
  child.stdin.on('error', () => undefined); // its end is reported
  return child;
}
