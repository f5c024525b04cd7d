/**
 * Maps the submissions of batches to files on this machine. Does not depend on VS Code.
 */
import path from 'node:path';
import { z } from 'zod';
import { candidatesOf } from '../../../client/sourcePaths.ts';
import { StudioError } from '../../../common/errors.ts';
import { scenarioCodeFile } from '../../../config/submission/world.ts';
import {
  modulesOf,
  type Submission,
  scenariosOf,
  submission as submissionSchema,
  worldsOf,
} from '../../../config/submission.ts';
import { ToolPlaces } from '../../../debug/sources/toolPlaces.ts';
import type { Api } from '../../../protocol/api.ts';
import type { BatchRow } from '../../../protocol/client.ts';

export interface Definition {
  readonly submission: Submission;
  readonly places: ToolPlaces;
  /** Returns the submitted lines of a file in an error, or undefined if they were not recorded. */
  readonly linesOf: (file: string) => Promise<readonly string[] | undefined>;
  /** Returns the file that errors name for a scenario's code, if the batch has the scenario. */
  readonly codeFileOf: (scenario: string) => string | undefined;
  /** Locates a file in an error on this machine. */
  readonly fileOf: (file: string) => string | undefined;
}

export class Definitions {
  readonly #folders: () => readonly string[];
  /** Cached definitions by submission SHA. */
  readonly #cache = new Map<string, Promise<Definition | undefined>>();

  constructor(folders: () => readonly string[]) {
    this.#folders = folders;
  }

  forget(): void {
    this.#cache.clear();
  }

  /** Returns undefined if the batch was imported or another version wrote its submission. */
  of(api: Api, row: BatchRow): Promise<Definition | undefined> {
    if (row.imported) return Promise.resolve(undefined);
    let cached = this.#cache.get(row.submission);
    if (cached === undefined) {
      cached = this.#read(api, row.submission);
      this.#cache.set(row.submission, cached);
      cached.catch(() => this.#cache.delete(row.submission)); // retry on the next call
    }
    return cached;
  }

  async #read(api: Api, sha: string): Promise<Definition | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await api.getBlob(sha);
    } catch (error) {
      if (StudioError.is(error, 'not_found')) return undefined;
      throw error;
    }
    const parsed = submissionSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    if (!parsed.success) return undefined;
    const submission = parsed.data;
    const modules = modulesOf(submission);
    const scenarios = scenariosOf(submission);
    const codeFiles = new Map(
      Object.entries(scenarios).map(([name, each]) => [scenarioCodeFile(name, each), each.code]),
    );
    const folders = this.#folders();
    const places = await ToolPlaces.read(submission, folders);
    return {
      submission,
      places,
      linesOf: linesIn(
        api,
        modules.map(({ map }) => map),
        codeFiles,
      ),
      codeFileOf: (name) => {
        const scenario = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined;
        return scenario === undefined ? undefined : scenarioCodeFile(name, scenario);
      },
      fileOf: (file) => candidatesOf(file, modules, folders)[0],
    };
  }
}

const sourceMap = z.object({ sources: z.array(z.string()), sourcesContent: z.array(z.string().nullable()).optional() });

/**
 * Searches the source maps for a file, because they contain the bundled sources. `code`: hashes of the code of
 * scenarios, by file.
 */
function linesIn(api: Api, shas: readonly string[], code: ReadonlyMap<string, string>): Definition['linesOf'] {
  const cached = new Map<string, Promise<readonly string[] | undefined>>();
  const find = async (file: string): Promise<readonly string[] | undefined> => {
    const scenario = code.get(file);
    if (scenario !== undefined) return new TextDecoder().decode(await api.getBlob(scenario)).split(/\r?\n/);
    for (const sha of new Set(shas)) {
      const { sources, sourcesContent } = sourceMap.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(sha))));
      const text = sourcesContent?.[sources.indexOf(file)];
      if (typeof text === 'string') return text.split(/\r?\n/);
    }
    return undefined;
  };
  return (file) => {
    let lines = cached.get(file);
    if (lines === undefined) cached.set(file, (lines = find(file)));
    return lines;
  };
}

/** Returns whether a tool or tool entry in a file belongs to the batch. */
export function includesTool(
  { submission, places, fileOf }: Definition,
  kind: 'code' | 'agent' | 'world',
  file: string,
  names: readonly string[] | undefined,
): boolean {
  switch (kind) {
    case 'code':
      return names?.some((name) => isSame(places.ofTool(name)?.path, file)) === true;
    case 'agent':
      return places.agentPaths.some((path) => isSame(path, file));
    case 'world':
      return worldsOf(submission).some((world) => isSame(fileOf(world.file), file));
  }
}

/** Returns whether a file is in the workspace that the batch was submitted from. */
export function isInWorkspace({ submission, fileOf }: Definition, file: string): boolean {
  const agent = fileOf(submission.agent.file);
  if (agent === undefined) return false;
  const root = agent.slice(0, agent.length - submission.agent.file.length);
  const relative = path.relative(root === '' ? path.sep : root, file);
  return !relative.startsWith('..') && !path.isAbsolute(relative) && !relative.split(path.sep).includes('node_modules');
}

export function isSame(a: string | undefined, b: string): boolean {
  if (a === undefined) return false;
  const [one, other] = [path.normalize(a), path.normalize(b)];
  return process.platform === 'win32' ? one.toLowerCase() === other.toLowerCase() : one === other;
}
