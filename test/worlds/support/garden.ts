/** The garden: a scenario of our own with all parts that Agent World Model publishes, ready to run. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { allowedEnvironment } from '../../../src/common/environment.ts';
import type { SubmittedCodeWorld } from '../../../src/config/submission/world.ts';
import { DEFAULT_SANDBOX } from '../../../src/config/submission.ts';
import type { JudgingContext, ToolCallContext, WorldSession } from '../../../src/rollout/ports.ts';
import type { ToolEnvironment } from '../../../src/tools/environment.ts';
import { createToolPools } from '../../../src/tools/pools.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { Reaper } from '../../../src/worker/reaper/reaper.ts';

export const GARDEN = path.join(import.meta.dirname, '..', 'fixtures', 'garden');
export const GARDEN_CODE = readFileSync(path.join(GARDEN, 'code.py'), 'utf8');

/** Killed processes are looked for this often. */
const LOOKS = 100;
const LOOK_MS = 50;

const schema = z.object({
  tables: z.array(z.object({ name: z.string(), ddl: z.string(), indexes: z.array(z.string()) })),
});
const rows = z.object({
  tables: z.array(z.object({ table_name: z.string(), insert_statements: z.array(z.string()) })),
});

const readJson = (name: string): unknown => JSON.parse(readFileSync(path.join(GARDEN, name), 'utf8'));

const templates = new Map<number, Buffer>();

/** Returns the garden's database, with enough plantings to have about this size. */
export function gardenTemplate(bytes = 0): Buffer {
  const known = templates.get(bytes) ?? buildTemplate(bytes);
  templates.set(bytes, known);
  return known;
}

function buildTemplate(bytes: number): Buffer {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'garden-'));
  const file = path.join(folder, 'template.db');
  const database = new DatabaseSync(file);
  for (const { ddl, indexes } of schema.parse(readJson('schema.json')).tables)
    for (const statement of [ddl, ...indexes]) database.exec(statement);
  for (const { insert_statements } of rows.parse(readJson('rows.json')).tables)
    for (const statement of insert_statements)
      database.exec(statement.replaceAll("datetime('now'", "datetime('2026-03-16 09:00:00'"));
  const plant = database.prepare("INSERT INTO plantings (plot_id, crop, planted_at, notes) VALUES (2, 'oats', ?, ?)");
  database.exec('BEGIN');
  for (let size = 0; size < bytes; size += 100) plant.run('2026-01-01 00:00:00', 'x'.repeat(40));
  database.exec('COMMIT');
  database.close();
  const built = readFileSync(file);
  rmSync(folder, { recursive: true });
  return built;
}

/** Returns the published verifiers of the garden's tasks. */
export function gardenVerifiers(): object {
  const source = (name: string): string => readFileSync(path.join(GARDEN, 'verifiers', name), 'utf8');
  return Object.fromEntries(
    ['0', '1'].map((task) => [
      task,
      {
        code: { python: source(`${task}.code.py`), function: 'verify_task_completion' },
        sql: { python: source(`${task}.sql.py`), function: 'verify_task' },
      },
    ]),
  );
}

export interface Worlds {
  readonly folder: string;
  readonly environment: ToolEnvironment;
  /** Returns a world with one scenario, whose parts are blobs of the environment. */
  world(parts?: {
    readonly code?: string;
    readonly template?: Buffer;
    readonly verifiers?: object;
    readonly pure?: readonly string[];
    readonly set?: Partial<SubmittedCodeWorld>;
  }): SubmittedCodeWorld;
  /** Ends all processes. Returns the IDs of those that are left. */
  close(): Promise<number[]>;
}

export const TASK: TaskRecord = { id: 'garden-0', question: '?', world: { scenario: 'garden' }, meta: { task_idx: 0 } };

/** Makes an environment of rollouts whose worlds run with `python`. */
export function startWorlds(python: string, sandbox: Partial<ToolEnvironment['sandbox']> = {}): Worlds {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'worlds-'));
  const work = path.join(folder, 'work');
  const cwd = path.join(work, 'rollout');
  mkdirSync(cwd, { recursive: true });
  const reaper = new Reaper();
  const pids = new Set<number>();
  const pools = createToolPools({
    directory: path.join(folder, 'bundles'),
    work,
    env: allowedEnvironment(process.env),
    processGroups: {
      owner: reaper.owner,
      add: (pid) => {
        pids.add(pid);
        reaper.add(pid);
      },
      remove: (pid) => reaper.remove(pid),
    },
  });
  const blobs = new Map<string, Buffer>();
  const add = (bytes: Buffer): string => {
    const sha = createHash('sha256').update(bytes).digest('hex');
    blobs.set(sha, bytes);
    return sha;
  };
  return {
    folder,
    environment: {
      cwd,
      pools,
      sandbox: { ...DEFAULT_SANDBOX, ...sandbox },
      readBlob: (sha) => {
        const bytes = blobs.get(sha);
        return bytes === undefined ? Promise.reject(new Error(`no blob ${sha}`)) : Promise.resolve(bytes);
      },
    },
    world: ({
      code = GARDEN_CODE,
      template = gardenTemplate(),
      verifiers = gardenVerifiers(),
      pure,
      set = {},
    } = {}) => ({
      kind: 'code',
      name: 'garden',
      file: 'garden.world.yaml',
      perturb: [],
      models: {},
      format: 'awm',
      expose: 'tools',
      verifier: 'code',
      rewards: { complete: 1, partial: 0.1, agent_error: 0, format: -1, environment_error: null },
      python,
      session: { memory_mb: 256, network: 'none' },
      scenarios: {
        garden: {
          code: add(Buffer.from(code)),
          template: add(template),
          verifiers: add(Buffer.from(JSON.stringify(verifiers))),
          place: { file: 'worlds/gen_envs.jsonl', line: 3 },
          ...(pure === undefined ? {} : { pure }),
        },
      },
      ...set,
    }),
    close: async () => {
      await pools.close();
      await reaper.close(500);
      rmSync(folder, { recursive: true, force: true });
      // Those that were killed a moment ago may not have been collected yet; the system tells nobody when they are.
      let left = [...pids].filter(isAlive);
      for (let look = 0; left.length > 0 && look < LOOKS; look++) {
        await sleep(LOOK_MS);
        left = left.filter(isAlive);
      }
      return left;
    },
  };
}

/** Whether a process group still has a process. */
function isAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the context of a call, which collects what it prints. */
export function callContext(signal = AbortSignal.timeout(30_000)): ToolCallContext & { readonly printed: string[] } {
  const printed: string[] = [];
  return { signal, seed: 1, onLog: (_stream, text) => printed.push(text), onProgress: () => undefined, printed };
}

/** Calls a tool. */
export function callTool(
  session: WorldSession,
  name: string,
  args: Parameters<WorldSession['call']>[0]['arguments'] = {},
  context = callContext(),
): ReturnType<WorldSession['call']> {
  return session.call({ id: 'c1', name, arguments: args }, context);
}

/** Returns the context of a verdict. `ask` answers the questions to side models. */
export function judging(
  ask: JudgingContext['ask'] = () => Promise.reject(new Error('nobody is asked')),
): JudgingContext {
  return { signal: AbortSignal.timeout(60_000), ask };
}
