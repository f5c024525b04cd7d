/**
 * Reads verifiers as their files are now, to judge recorded final states with them: those of a code world, or a single
 * Python file of an extracted scenario.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { Scenarios } from '../../config/load/scenarios.ts';
import type { ScenarioVerifiers, SubmittedCodeWorld } from '../../config/submission/world.ts';
import { type LooseFile, looseFile, looseFileAt } from '../../formats/awmFiles.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { AgentWorldFolder } from './agentWorldFolder.ts';
import { AwmFolder } from './awmFolder.ts';
import { readVerifiers } from './scenarioFiles.ts';

/** A verifier that judges by itself, or one that collects evidence for a judge. */
export type VerifierMode = 'code' | 'sql';

const MODES = { codeVerifier: 'code', sqlVerifier: 'sql' } as const satisfies Partial<
  Record<LooseFile['part'], VerifierMode>
>;

/** What a world file says about judging. */
export type JudgingSettings = Pick<SubmittedCodeWorld, 'verifier' | 'rewards' | 'models' | 'python'>;

/** A single verifier, which has a file of its own. */
export interface VerifierFile {
  readonly folder: string;
  readonly scenario: string;
  readonly task: string;
  readonly mode: VerifierMode;
}

/** Returns which verifier of an extracted scenario a path names; undefined for other paths. */
export function verifierFileAt(file: string): VerifierFile | undefined {
  const { part = 'code', key = '', task = 0, folder = '' } = looseFileAt(file) ?? {};
  return part === 'code' ? undefined : { folder, scenario: key, task: String(task), mode: MODES[part] };
}

export class EditedVerifiers {
  /** The only verifier that judges. Absent: those that the world names. */
  readonly only: VerifierFile | undefined;
  readonly #folder: string;
  readonly #settings: JudgingSettings | undefined;
  readonly #scenarios: ReadonlyMap<string, ScenarioVerifiers>;

  private constructor(
    folder: string,
    scenarios: ReadonlyMap<string, ScenarioVerifiers>,
    { only, settings }: { readonly only?: VerifierFile; readonly settings?: JudgingSettings },
  ) {
    this.#folder = folder;
    this.#scenarios = scenarios;
    this.only = only;
    this.#settings = settings;
  }

  /** Reads one verifier. Throws StudioError `config` if the folder has no such verifier, or cannot be read. */
  static async ofFile(only: VerifierFile, signal: AbortSignal): Promise<EditedVerifiers> {
    const { folder, scenario, task, mode } = only;
    const worlds = await AwmFolder.open(folder, signal);
    try {
      const verifiers = await readVerifiers(worlds, scenario, signal);
      if (verifiers[task]?.[mode] !== undefined)
        return new EditedVerifiers(folder, new Map([[scenario, verifiers]]), { only });
    } finally {
      await worlds.close();
    }
    throw new StudioError('config', `${folder} has no ${mode} verifier of ${scenario} for task ${task}.`, {
      hint: 'Name a verifier as “Extract to Workspace” wrote it, next to the files of its scenario.',
    });
  }

  /**
   * Reads the verifiers of scenarios; those that the folder does not have are left out. Throws StudioError `config`,
   * with file and line, for a row that cannot be read.
   */
  static async ofWorld(
    { format, folder }: Pick<Scenarios, 'format' | 'folder'>,
    names: Iterable<string>,
    { verifier, rewards, models, python }: JudgingSettings,
    signal: AbortSignal,
  ): Promise<EditedVerifiers> {
    const worlds = await (format === 'awm' ? AwmFolder : AgentWorldFolder).open(folder, signal);
    try {
      const published = new Set(worlds.scenarios.map(({ key }) => key));
      const scenarios = new Map<string, ScenarioVerifiers>();
      for (const name of names) if (published.has(name)) scenarios.set(name, await readVerifiers(worlds, name, signal));
      const settings = {
        ...{ verifier, rewards },
        ...(models === undefined ? {} : { models }),
        ...(python === undefined ? {} : { python }),
      };
      return new EditedVerifiers(folder, scenarios, { settings });
    } finally {
      await worlds.close();
    }
  }

  /** Whether they belong to a scenario of a world. */
  isFor({ scenarios }: Pick<SubmittedCodeWorld, 'scenarios'>): boolean {
    return [...this.#scenarios.keys()].some((name) => Object.hasOwn(scenarios, name));
  }

  /** Whether one of these verifiers judges a task. */
  judges({ world, meta }: Pick<TaskRecord, 'world' | 'meta'>): boolean {
    const { scenario } = world ?? {};
    const index = meta['task_idx'];
    if (scenario === undefined || (typeof index !== 'number' && typeof index !== 'string')) return false;
    if (this.only !== undefined) return scenario === this.only.scenario && String(index) === this.only.task;
    return this.#scenarios.get(scenario)?.[index] !== undefined;
  }

  /** Returns a world with these verifiers, and their blobs: everything else of its scenarios is as recorded. */
  in(world: SubmittedCodeWorld): {
    readonly world: SubmittedCodeWorld;
    readonly blobs: readonly { readonly sha: string; readonly media: string; readonly bytes: Uint8Array }[];
  } {
    const blobs = [...this.#scenarios].map(([scenario, verifiers]) => {
      const bytes = Buffer.from(JSON.stringify(verifiers));
      return { scenario, sha: createHash('sha256').update(bytes).digest('hex'), media: 'application/json', bytes };
    });
    const scenarios = Object.entries(world.scenarios).map(([name, scenario]) => {
      const own = blobs.find((blob) => blob.scenario === name);
      return [name, own === undefined ? scenario : { ...scenario, verifiers: own.sha }] as const;
    });
    return {
      world: {
        ...world,
        ...this.#settings,
        ...(this.only === undefined ? {} : { verifier: this.only.mode }),
        scenarios: Object.fromEntries(scenarios),
      },
      blobs: blobs.map(({ sha, media, bytes }) => ({ sha, media, bytes })),
    };
  }

  /**
   * Returns the path of the Python file of the verifier that judges a task, and a line of it: by default, that of its
   * function. undefined: it is only a row of a published file.
   */
  place(
    { world, meta }: Pick<TaskRecord, 'world' | 'meta'>,
    mode: VerifierMode,
    line: number | undefined,
  ): { readonly file: string; readonly line: number } | undefined {
    const key = world?.scenario ?? '';
    const index = Number(meta['task_idx']);
    const file = path.join(this.#folder, looseFile(mode === 'code' ? 'codeVerifier' : 'sqlVerifier', key, index));
    const verifier = this.#scenarios.get(key)?.[index]?.[mode];
    if (verifier === undefined || !existsSync(file)) return undefined;
    const { python, function: name } = verifier;
    const defined = python.split('\n').findIndex((text) => new RegExp(`^(async\\s+)?def\\s+${name}\\b`).test(text));
    return { file, line: line ?? Math.max(1, defined + 1) };
  }
}
