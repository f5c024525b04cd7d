import { StudioError } from '../../common/errors.ts';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { abortedError } from '../aborted.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { killGroup } from './groupProcess.ts';
import { Output } from './output.ts';
import type { ProcessGroups } from './processGroups.ts';
import { spawnGroup } from './spawnGroup.ts';

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** Passes the arguments without quoting (Windows only). */
  readonly verbatim?: boolean;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  readonly limits?: ProcessLimits | undefined;
  readonly sandbox?: Sandbox | undefined;
  /** Receive what it prints. Default: both the same. */
  readonly output?: { readonly out: Output; readonly err: Output };
  /** Kills the process after this time; its output until then is returned. */
  readonly timeoutMs?: number | undefined;
  /** Kills the process and all its children. */
  readonly signal: AbortSignal;
  readonly processGroups: ProcessGroups;
}

export interface ProcessResult {
  /** null if it was killed by a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  /** Output to stdout and stderr, in order of arrival, or only to stdout. */
  readonly output: Output;
}

/** Time to wait for pipes that children hold open after the exit. */
const DRAIN_MS = 200;

/**
 * Runs a process in its own process group until it exits, then kills its remaining children. Throws ClassedError:
 * `tool_error` if it cannot be started, `timeout` or `cancelled` by the signal.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const { signal, processGroups } = request;
  if (signal.aborted) throw abortedError(signal);
  const child = spawnGroup(request, processGroups);
  const { pid } = child;
  const output = request.output?.out ?? new Output();
  const errors = request.output?.err ?? output;
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors.push(chunk);
  });
  // It may exit without reading its input; the exit code is enough.
  child.stdin.on('error', () => undefined);
  child.stdin.end(request.input ?? '');
  const kill = (): void => {
    killGroup(child);
  };
  let timedOut = false;
  const timer =
    request.timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true;
          kill();
        }, request.timeoutMs);
  const onAbort = (): void => {
    kill();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<ProcessResult>((resolve, reject) => {
      let exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
      let drain: NodeJS.Timeout | undefined;
      const finish = (): void => {
        clearTimeout(drain);
        if (exit === undefined) return;
        if (signal.aborted) reject(abortedError(signal));
        else resolve({ ...exit, timedOut, output });
      };
      child.on('error', (error: Error & { code?: string }) => {
        if (StudioError.is(error)) {
          reject(error); // its container is gone
          return;
        }
        reject(
          new ClassedError(
            'tool_error',
            `Cannot start ${request.file}: ${error.code === 'ENOENT' ? 'program not found' : error.message}.`,
            { cause: error },
          ),
        );
      });
      child.on('exit', (code, exitSignal) => {
        exit = { code, signal: exitSignal };
        // Its children may keep running and hold its pipes open.
        kill();
        drain = setTimeout(finish, DRAIN_MS);
      });
      child.on('close', finish);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    child.stdout.destroy();
    child.stderr.destroy();
    if (pid !== undefined) processGroups.remove(pid);
  }
}
