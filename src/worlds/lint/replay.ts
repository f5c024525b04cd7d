/** Makes the calls of a reference solution again, to reach the state in which it left the world. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { loadedScenario, savedState } from '../code/protocol.ts';
import { RunnerError, RunnerLost, type RunnerProcess } from '../code/runnerProcess.ts';
import { ask, type StartedScenario, withProcess } from './process.ts';

const LOAD_MS = 30_000;
const CALL_MS = 30_000;

interface Solution {
  readonly seed: number;
  readonly calls: readonly { readonly tool: string; readonly arguments: JsonObject; readonly failed: boolean }[];
}

/** The state that it reaches, or why it does not: what completes “it cannot be repeated: …”. */
export type Replayed = { readonly state: Uint8Array } | { readonly why: string };

/** Throws StudioError for what this machine lacks, and if it is cancelled. */
export async function replaySolution(
  scenario: StartedScenario,
  solution: Solution,
  signal: AbortSignal,
): Promise<Replayed> {
  const once = (forks: boolean): Promise<Replayed | undefined> =>
    withProcess(scenario, forks, (process, folder) => replay(scenario, solution, { process, folder, forks }, signal));
  return (await once(true)) ?? (await once(false)) ?? { why: 'its scenario opens no session' };
}

/** Returns undefined if sessions cannot be forked. */
async function replay(
  { code, template, format, clock, memoryMb }: StartedScenario,
  { seed, calls }: Solution,
  { process, folder, forks }: { readonly process: RunnerProcess; readonly folder: string; readonly forks: boolean },
  signal: AbortSignal,
): Promise<Replayed | undefined> {
  const files = { code: path.join(folder, 'scenario.py'), template: path.join(folder, 'template') };
  await Promise.all([writeFile(files.code, code), writeFile(files.template, template)]);
  const session = randomUUID();
  const send = (op: string, fields: object, ms: number): Promise<unknown> => ask(process, { op, fields, ms }, signal);
  try {
    const load = { ...files, format, clock, folder: path.join(folder, 'loading') };
    const loaded = loadedScenario.parse(await send('load', load, LOAD_MS));
    if (forks && !loaded.fork) return undefined;
    const own = { session, folder: path.join(folder, 'sessions', session), seed, memory_mb: memoryMb };
    await send('open', own, LOAD_MS);
    for (const [at, { tool, arguments: args, failed }] of calls.entries()) {
      const why = await failure(send('call', { session, name: tool, args }, CALL_MS), signal);
      const which = `call ${at + 1}, to ${tool}`;
      if (failed !== (why !== undefined))
        return { why: `${which}, ${why === undefined ? 'succeeds' : `fails: ${why}`}` };
    }
    return { state: Buffer.from(savedState.parse(await send('snapshot', { session }, CALL_MS)).state, 'base64') };
  } catch (error) {
    return { why: reasonOf(error, signal) };
  }
}

/** Returns how a call failed; undefined if it succeeded. */
async function failure(calling: Promise<unknown>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await calling;
    return undefined;
  } catch (error) {
    return reasonOf(error, signal);
  }
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) throw error;
  if (error instanceof RunnerError) return error.fault.why ?? error.fault.message;
  if (error instanceof RunnerLost && StudioError.is(error.cause)) throw error.cause;
  return StudioError.is(error, 'cancelled') ? `no answer in ${CALL_MS / 1000} s` : errorText(error);
}
