/** The processes in which the lint runs code of a scenario and its verifiers. */
import { abortable } from '../../common/abort.ts';
import { isJsonObject, type Json } from '../../common/json.ts';
import type { WorldFormat } from '../../config/schema/codeWorld.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { removeProgramsFolder } from '../../tools/removeProgramsFolder.ts';
import type { RunnerProcess } from '../code/runnerProcess.ts';
import { makeFolder, startProcess } from '../code/scenarioRunner.ts';

/** A verifier takes milliseconds. Rollouts wait longer for one. */
export const VERIFIER_SECONDS = 5;
/** The runner ends a verifier itself; it does not answer if it hangs. */
export const VERIFIER_MS = (VERIFIER_SECONDS + 10) * 1000;
export const COMPLETE = 'complete';

/** What is run. */
export interface StartedScenario {
  readonly format: WorldFormat;
  readonly code: Uint8Array;
  readonly template: Uint8Array;
  readonly clock: { readonly start_ms: number; readonly step_ms: number } | null;
  readonly memoryMb: number;
  /** The interpreter that the world file names. */
  readonly python: string | undefined;
  readonly environment: Pick<ToolEnvironment, 'pools' | 'sandbox'>;
}

/** Starts a runner, and ends it with all that it wrote. `forks`: its sessions and verifiers are forked. */
export async function withProcess<T>(
  { environment, python }: Pick<StartedScenario, 'environment' | 'python'>,
  forks: boolean,
  run: (process: RunnerProcess, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await makeFolder(environment.pools);
  try {
    const started = await startProcess(environment, folder, python, forks);
    try {
      return await run(started, folder);
    } finally {
      await started.close();
    }
  } finally {
    await removeProgramsFolder(folder, environment.pools.processGroups);
  }
}

/** Sends a request. Throws RunnerError, RunnerLost, and StudioError `cancelled` when the time is up. */
export async function ask(
  process: RunnerProcess,
  { op, fields, ms }: { readonly op: string; readonly fields: object; readonly ms: number },
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted();
  const asked = process.request(op, fields);
  asked.catch(() => undefined); // late
  return await abortable(asked, AbortSignal.any([signal, AbortSignal.timeout(ms)]));
}

/** Returns what a code verifier says: `complete`, or anything else. */
export function saidBy(result: Json): Json | undefined {
  return isJsonObject(result) ? result['result'] : result;
}
