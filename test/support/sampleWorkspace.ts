/**
 * The sample workspace as source, without bundling: `rollout-studio` is the SDK of this checkout. Its path is assembled
 * at run time, so that the project's type check does not include users' files.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Json } from '../../src/common/json.ts';
import type { OpenWorld, ToolDefinition, Verdict, WorldChange, WorldSession, WorldTask } from '../../src/tools/sdk.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const SAMPLE = join(ROOT, 'media', 'sample');

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'rollout-studio') return next(specifier, context);
    return {
      url: pathToFileURL(join(ROOT, 'src', 'tools', 'sdk.ts')).href,
      format: 'module-typescript',
      shortCircuit: true,
    };
  },
});

const noModel = (): Promise<never> => Promise.reject(new Error('The sample workspace asks no models.'));

export async function sampleWorld(): Promise<OpenWorld> {
  const module = (await import(pathToFileURL(join(SAMPLE, 'worlds', 'library.ts')).href)) as { open: OpenWorld };
  return module.open;
}

export function sampleTasks(): WorldTask[] {
  const lines = readFileSync(join(SAMPLE, 'data', 'tasks.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => ({ meta: {}, ...(JSON.parse(line) as Omit<WorldTask, 'meta'>) }));
}

/** One opened library and its tools as a rollout calls them: arguments checked, results as JSON, errors as values. */
export class OpenSample {
  readonly task: WorldTask;
  readonly session: WorldSession;

  private constructor(task: WorldTask, session: WorldSession) {
    this.task = task;
    this.session = session;
  }

  static async open(task: WorldTask, options: { seed?: number; from?: Uint8Array } = {}): Promise<OpenSample> {
    const open = await sampleWorld();
    const args = [task, options.seed ?? 1] as const;
    return new OpenSample(task, await (options.from === undefined ? open(...args) : open(...args, options.from)));
  }

  get tools(): Readonly<Record<string, ToolDefinition>> {
    return this.session.tools;
  }

  async call(name: string, args: unknown): Promise<{ ok: Json } | { error: string }> {
    const definition = this.tools[name];
    if (definition === undefined) return { error: `There is no tool ${name}.` };
    const parsed = definition.input.safeParse(args);
    if (!parsed.success) return { error: `The arguments of ${name} are wrong: ${parsed.error.message}` };
    const nothing = (): void => undefined;
    const context = {
      signal: new AbortController().signal,
      seed: 1,
      cwd: SAMPLE,
      env: {},
      secrets: {},
      state: this.session.state,
      ask: noModel,
      log: nothing,
      progress: nothing,
    };
    try {
      return { ok: JSON.parse(JSON.stringify(await definition.run(parsed.data, context))) as Json };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  diff(): readonly WorldChange[] {
    return this.session.diff!() as readonly WorldChange[];
  }

  verify(answer: Json): Verdict {
    return this.session.verify!(
      { answer, expected: this.task.answer, messages: [], state: this.session.state },
      { signal: new AbortController().signal, ask: noModel },
    ) as Verdict;
  }

  snapshot(): Uint8Array {
    return this.session.snapshot!() as Uint8Array;
  }

  close(): void {
    void this.session.close!();
  }
}
