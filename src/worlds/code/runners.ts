import type { ToolEnvironment, ToolPools } from '../../tools/environment.ts';
import { ScenarioRunner, type ScenarioSource } from './scenarioRunner.ts';

/** Loaded scenarios without a session that are kept for the next one. Each takes about 80 MB. */
const KEPT = 2;

interface Entry {
  readonly runner: Promise<ScenarioRunner>;
  /** Once it is loaded. */
  loaded: ScenarioRunner | undefined;
  users: number;
}

/** The loaded scenarios of a worker: one process for all sessions of a scenario, which ends when nobody needs it. */
export class Runners {
  readonly #pools: ToolPools;
  /** By scenario and sandbox; those that were used last come last. */
  readonly #entries = new Map<string, Entry>();

  constructor(pools: ToolPools) {
    this.#pools = pools;
  }

  /** Returns the runner of a scenario and what gives it back. Throws as `ScenarioRunner.start`. */
  async acquire(
    source: ScenarioSource,
    environment: Pick<ToolEnvironment, 'cwd' | 'sandbox' | 'readBlob'>,
  ): Promise<{ readonly runner: ScenarioRunner; readonly release: () => Promise<void> }> {
    const key = keyOf(source, environment);
    const known = this.#entries.get(key);
    const entry = known !== undefined && isAlive(known) ? known : this.#start(source, environment);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users++;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      entry.users--;
      await this.#trim();
    };
    try {
      return { runner: await entry.runner, release };
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(end));
  }

  #start(source: ScenarioSource, environment: Pick<ToolEnvironment, 'sandbox' | 'readBlob'>): Entry {
    // Other rollouts wait for it, too: the end of the one that needs it first must not stop it.
    const runner = ScenarioRunner.start(source, { ...environment, pools: this.#pools }, true, NEVER);
    const entry: Entry = { runner, loaded: undefined, users: 0 };
    runner.then(
      async (loaded) => {
        entry.loaded = loaded;
        await loaded.process.ended;
        await loaded.close(); // removes the folder of one that died
      },
      () => undefined, // reported to those who wait
    );
    return entry;
  }

  /** Ends runners without sessions beyond those that are kept, and those that have ended. */
  async #trim(): Promise<void> {
    const unused = [...this.#entries].filter(([, { users }]) => users === 0);
    for (const [at, [key, entry]] of unused.entries()) {
      if (at >= unused.length - KEPT && isAlive(entry)) continue;
      if (entry.users > 0 || this.#entries.get(key) !== entry) continue;
      this.#entries.delete(key);
      await end(entry);
    }
  }
}

const NEVER = new AbortController().signal;

function keyOf(
  { world, name, scenario }: ScenarioSource,
  { cwd, sandbox }: Pick<ToolEnvironment, 'cwd' | 'sandbox'>,
): string {
  const { format, python, clock } = world;
  const scope = sandbox.modules === 'shared' ? '' : cwd;
  return JSON.stringify([name, scenario.code, scenario.template, format, python, clock, sandbox, scope]);
}

/** Whether it is loading, or can take requests. */
function isAlive({ loaded }: Entry): boolean {
  return loaded?.process.alive ?? true;
}

async function end({ runner }: Entry): Promise<void> {
  await runner.then((started) => started.close()).catch(() => undefined); // it did not start
}
