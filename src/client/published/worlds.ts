/** Published worlds: folders with many scenarios, in the formats of others. */
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { TableRows, TaskVerifier, WorldTable, WorldTool } from '../../protocol/worldPage.ts';
import type { FileProblem } from './problems.ts';

/** A scenario in a list. */
export interface ScenarioSummary {
  /** The name by which tasks and commands mean it. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly tasks: readonly string[];
}

export interface ScenarioDetails {
  /** Its tables or collections, with the number of their rows at the start. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** `request`: method and path, where a tool is an endpoint. */
  readonly tools: readonly { readonly name: string; readonly request?: string; readonly summary: string }[];
  /** 0: the files have no code, so that it cannot run. */
  readonly codeLines: number;
  /** What judges each task. */
  readonly verifiers: readonly (readonly string[])[];
}

/** A scenario as its page shows it. */
export interface ScenarioModel {
  readonly tables: readonly WorldTable[];
  readonly tools: readonly WorldTool[];
  readonly codeLines: number;
  /** What judges each task. */
  readonly verifiers: readonly (readonly string[])[];
}

export interface PublishedWorlds {
  /** As people name it. */
  readonly format: string;
  readonly folder: string;
  readonly scenarios: readonly ScenarioSummary[];
  /** What is wrong with the files that were read so far. */
  readonly problems: readonly FileProblem[];
  /** Names of the parts of a scenario. */
  readonly parts: readonly string[];
  /**
   * Returns the scenarios whose name, description, tasks, tables, or tools contain all words, in the order of the
   * files.
   */
  search(words: string, signal: AbortSignal): Promise<ScenarioSummary[]>;
  details(key: string, signal: AbortSignal): Promise<ScenarioDetails>;
  /** Returns tables with their keys, and tools with their parameters. */
  model(key: string, signal: AbortSignal): Promise<ScenarioModel>;
  /** Returns the rows of a table at the start. Throws StudioError `not_found` if there is no such table. */
  rows(key: string, table: string, signal: AbortSignal): Promise<TableRows>;
  verifiers(key: string, task: number, signal: AbortSignal): Promise<TaskVerifier[]>;
  /**
   * Returns a part of a scenario as published; where a part is one of a task, of that with this index. undefined: the
   * files have none. Throws StudioError `config`, with file and line, if it cannot be read.
   */
  part(name: string, key: string, task: number, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Returns a scenario. Throws StudioError `not_found` with similar names. */
export function scenarioNamed({ scenarios, folder }: PublishedWorlds, name: string): ScenarioSummary {
  const found = scenarios.find(({ key }) => key === name) ?? scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const similar = scenarios.filter(({ key }) => key.toLowerCase().includes(name.toLowerCase())).slice(0, 5);
  throw new StudioError('not_found', `There is no scenario ${name} in ${folder}.`, {
    hint:
      similar.length === 0
        ? `List its ${plural(scenarios.length, 'scenario')} with rollout world list ${folder}.`
        : `Similar: ${similar.map(({ key }) => key).join(', ')}.`,
  });
}

/** Returns the scenarios with all words. `names`: those of the tables and tools of a scenario. */
export function scenariosWith(
  words: string,
  scenarios: readonly ScenarioSummary[],
  names: (key: string) => readonly string[],
): ScenarioSummary[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return scenarios.filter(({ key, name, description, tasks }) => {
    const text = [key, name, description, ...tasks, ...names(key)].join('\n').toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
