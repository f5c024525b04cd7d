/** Finds driven sessions that were kept as reference solutions, to measure verifiers with their final states. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { sha256Hex } from '../../common/hash.ts';
import { isJsonObject, type Json, type JsonObject, jsonOf } from '../../common/json.ts';
import { drivenSession } from '../../formats/drive.ts';

/** Where `rollout world drive` keeps sessions. A demonstration counts if the verifier accepted it. */
const FOLDERS = [
  { folder: 'solutions', isClaim: true },
  { folder: 'demonstrations', isClaim: false },
] as const;

/** A session that should solve a task. */
export interface ReferenceSolution {
  /** Relative to the root, with `/`. */
  readonly file: string;
  /** Changes with the file. */
  readonly hash: string;
  /** Index of the task, as published. */
  readonly task: number;
  readonly seed: number;
  readonly answer: Json;
  readonly calls: readonly { readonly tool: string; readonly arguments: JsonObject; readonly failed: boolean }[];
}

/** Returns the solutions of a world's scenarios below the root of a workspace. Other files are left out. */
export async function referenceSolutions(
  root: string,
  world: string,
  scenarios: ReadonlySet<string>,
): Promise<Map<string, ReferenceSolution[]>> {
  const found = new Map<string, ReferenceSolution[]>();
  for (const { folder, isClaim } of FOLDERS)
    for (const name of await filesIn(path.join(root, folder))) {
      const text = await readFile(path.join(root, folder, name), 'utf8').catch(() => '');
      const file = `${folder}/${name}`;
      for (const session of sessionsIn(text)) {
        const { scenario, task_idx: task, verdict, seed, answer = null } = session;
        if (session.world !== world || scenario === undefined || task === undefined || !scenarios.has(scenario))
          continue;
        if (!isClaim && verdict?.passed !== true) continue;
        const calls = session.calls.map(({ tool, arguments: args, error }) => ({
          tool,
          arguments: isJsonObject(args) ? args : {},
          failed: error !== undefined,
        }));
        const solution = { file, hash: sha256Hex(text), task, seed, answer, calls };
        found.set(scenario, [...(found.get(scenario) ?? []), solution]);
      }
    }
  return found;
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []); // nothing was kept
  return names.filter((name) => name.endsWith('.json')).sort();
}

function sessionsIn(text: string): ReturnType<typeof drivenSession.parse>[] {
  const parsed = jsonOf(text);
  const sessions = drivenSession.array().safeParse(parsed);
  return sessions.success ? sessions.data : [];
}
