/** Finds the source of a rollout's actions: tools in their modules, tool entries and the model in the agent's file. */
import path from 'node:path';
import { isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { diskFiles } from '../../client/disk.ts';
import { candidatesOf } from '../../client/sourcePaths.ts';
import { StudioError } from '../../common/errors.ts';
import {
  agentAt,
  agentsOf,
  handoffToolName,
  modulesOf,
  realToolsIn,
  type Submission,
  type SubmittedAgent,
  type SubmittedMember,
  type SubmittedModule,
  worldsOf,
} from '../../config/submission.ts';
import { BUILTIN_TOOLS } from '../../config/tools/builtinTools.ts';
import { moduleTools, type ToolPlace } from '../../config/tools/toolModules.ts';

/** A line of a file on this machine, 1-based. */
export interface SourcePlace {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** What a line of a file defines. */
export type LineMeaning =
  | { readonly kind: 'tools'; readonly names: readonly string[]; readonly line: number }
  | { readonly kind: 'model'; readonly line: number };

interface Entry {
  readonly first: number;
  readonly last: number;
  readonly names: readonly string[];
}

interface AgentFile {
  readonly path: string;
  readonly entries: readonly Entry[];
  readonly model: { readonly first: number; readonly last: number } | undefined;
}

/** Reads a text file. Returns undefined if it does not exist. */
type ReadText = (file: string) => Promise<string | undefined>;

export class ToolPlaces {
  readonly #tools: ReadonlyMap<string, ToolPlace>;
  /** By agent of a team. */
  readonly #agents: ReadonlyMap<SubmittedAgent, AgentFile>;
  readonly #submission: Submission | undefined;
  /** Maps the path of a file at submission to its path on this machine. */
  readonly #locate: (file: string) => string | undefined;

  private constructor(
    tools: ReadonlyMap<string, ToolPlace>,
    agents: ReadonlyMap<SubmittedAgent, AgentFile>,
    submission: Submission | undefined,
    locate: (file: string) => string | undefined,
  ) {
    this.#tools = tools;
    this.#agents = agents;
    this.#submission = submission;
    this.#locate = locate;
  }

  /** For an imported rollout, whose definition is unknown. */
  static none(): ToolPlaces {
    return new ToolPlaces(new Map(), new Map(), undefined, () => undefined);
  }

  /** `folders`: where to look for files that were moved. */
  static async read(submission: Submission, folders: readonly string[]): Promise<ToolPlaces> {
    const modules = modulesOf(submission);
    const readText = cached(textOf);
    const locate = await locator(
      [...agentsOf(submission).map(({ file }) => file), ...modules.map(({ file }) => file)],
      modules,
      folders,
      readText,
    );
    const tools = new Map<string, ToolPlace>();
    const namesOf = async (module: SubmittedModule, how: 'exported' | 'reached'): Promise<string[]> => {
      const file = locate(module.file);
      const found = file === undefined ? undefined : await moduleTools(slashed(file), how, readText);
      for (const tool of found ?? []) if (!tools.has(tool.name)) tools.set(tool.name, tool);
      return (found ?? []).map(({ name }) => name);
    };
    const agents = new Map<SubmittedAgent, AgentFile>();
    for (const agent of agentsOf(submission)) {
      const names = await Promise.all(
        agent.tools.map(async (entry) => {
          if (entry.kind === 'module') return namesOf(entry.module, 'exported');
          return entry.kind === 'mcp' ? (entry.tools ?? [entry.name]) : [...BUILTIN_TOOLS[entry.name]];
        }),
      );
      const file = await agentFile(locate(agent.file), namesByEntry(agent, names), readText);
      if (file !== undefined) agents.set(agent, file);
    }
    for (const world of worldsOf(submission)) {
      if (world.kind === 'module') await namesOf(world.module, 'reached');
      for (const entry of realToolsIn(world)) if (entry.kind === 'module') await namesOf(entry.module, 'exported');
    }
    return new ToolPlaces(tools, agents, submission, locate);
  }

  /** Names of the tools whose source was found. */
  get names(): string[] {
    return [
      ...new Set([
        ...this.#tools.keys(),
        ...[...this.#agents.values()].flatMap(({ entries }) => entries.flatMap(({ names }) => names)),
      ]),
    ];
  }

  /** Paths of the agents' files. */
  get agentPaths(): string[] {
    return [...this.#agents.values()].map((file) => file.path);
  }

  /** Returns the definition of a tool. */
  ofTool(name: string): SourcePlace | undefined {
    const tool = this.#tools.get(name);
    return tool === undefined ? undefined : { path: path.normalize(tool.path), line: tool.line, column: tool.column };
  }

  /**
   * Returns where an agent gets a tool from: its entry in the agent's file, or for a tool that calls a member, the
   * member's position in its team; otherwise the first line of the agent's file. `agent`: its instance path.
   */
  ofEntry(agent: string, name: string | undefined): SourcePlace | undefined {
    if (this.#submission === undefined) return undefined;
    const member = name === undefined ? undefined : memberBehind(this.#submission, agent, name);
    const teamFile = member?.position === undefined ? undefined : this.#locate(member.position.file);
    if (member?.position !== undefined && teamFile !== undefined)
      return { path: path.normalize(teamFile), line: member.position.line, column: member.position.column };
    const file = this.#agents.get(agentAt(this.#submission, agent) ?? this.#submission.agent);
    if (file === undefined) return undefined;
    const entry = name === undefined ? undefined : file.entries.find(({ names }) => names.includes(name));
    return { path: file.path, line: entry?.first ?? 1, column: 1 };
  }

  /** Returns the path on this machine of a file that an error names. */
  ofFile(file: string): string | undefined {
    return path.isAbsolute(file) ? file : this.#locate(file);
  }

  /** Returns what a line of a file defines; undefined if no rollout can stop there. */
  at(file: string, line: number): LineMeaning | undefined {
    const agent = [...this.#agents.values()].find((candidate) => samePath(candidate.path, file));
    if (agent !== undefined) {
      const { model, entries } = agent;
      if (model !== undefined && line >= model.first && line <= model.last) return { kind: 'model', line: model.first };
      const entry = entries.find((candidate) => line >= candidate.first && line <= candidate.last);
      return entry === undefined || entry.names.length === 0
        ? undefined
        : { kind: 'tools', names: entry.names, line: entry.first };
    }
    // A definition extends to the next one.
    const before = [...this.#tools.values()]
      .filter((tool) => samePath(tool.path, file) && tool.line <= line)
      .sort((a, b) => b.line - a.line);
    const [tool] = before;
    return tool === undefined ? undefined : { kind: 'tools', names: [tool.name], line: tool.line };
  }
}

/**
 * Returns the member behind a tool that calls it or hands off to it, in the agent's own team or one that contains it.
 */
function memberBehind(submission: Submission, agent: string, tool: string): SubmittedMember | undefined {
  const own = agentAt(submission, agent)?.team;
  const called = own?.kind === 'leader' ? own.members.find(({ name }) => name === tool) : undefined;
  const steps = agent.split('/');
  const teams = steps.map((_, index) => agentAt(submission, steps.slice(0, index).join('/'))?.team).reverse();
  return (
    called ??
    teams
      .flatMap((team) => (team?.kind === 'handoff' ? team.members : []))
      .find(({ name }) => handoffToolName(name) === tool)
  );
}

/**
 * Groups names by entry of the agent's file: one entry with a list of built-in tools becomes several in the submission.
 */
function namesByEntry(agent: SubmittedAgent, names: readonly (readonly string[])[]): string[][] {
  const entries: string[][] = [];
  for (const [index, { position }] of agent.tools.entries()) {
    const before = agent.tools[index - 1]?.position;
    const same =
      position !== undefined &&
      before !== undefined &&
      position.line === before.line &&
      position.column === before.column;
    if (same) entries.at(-1)?.push(...(names[index] ?? []));
    else entries.push([...(names[index] ?? [])]);
  }
  return entries;
}

async function agentFile(
  file: string | undefined,
  names: readonly (readonly string[])[],
  readText: ReadText,
): Promise<AgentFile | undefined> {
  const text = file === undefined ? undefined : await readText(slashed(file));
  if (file === undefined || text === undefined) return undefined;
  const lines = new LineCounter();
  const { contents } = parseDocument(text, { lineCounter: lines });
  const rangeOf = (node: unknown): { first: number; last: number } | undefined => {
    const range = (node as Node | null)?.range;
    if (range === null || range === undefined) return undefined;
    return { first: lines.linePos(range[0]).line, last: lines.linePos(Math.max(range[0], range[1] - 1)).line };
  };
  if (!isMap(contents)) return { path: file, entries: [], model: undefined };
  const pair = contents.items.find(({ key }) => String(key) === 'model');
  const value = rangeOf(pair?.value);
  const key = rangeOf(pair?.key);
  const tools = contents.get('tools', true);
  const entries = isSeq(tools)
    ? tools.items.flatMap((item, index) => {
        const range = rangeOf(item);
        return range === undefined ? [] : [{ ...range, names: names[index] ?? [] }];
      })
    : [];
  return {
    path: file,
    entries,
    model: key === undefined || value === undefined ? undefined : { first: key.first, last: value.last },
  };
}

async function locator(
  files: readonly string[],
  modules: readonly SubmittedModule[],
  folders: readonly string[],
  readText: ReadText,
): Promise<(file: string) => string | undefined> {
  const located = new Map<string, string>();
  for (const file of new Set(files)) {
    for (const candidate of candidatesOf(file, modules, folders)) {
      if ((await readText(slashed(candidate))) === undefined) continue;
      located.set(file, candidate);
      break;
    }
  }
  // Files that were not found are expected next to those that were.
  return (file) => located.get(file) ?? candidatesOf(file, modules, folders)[0];
}

function cached(read: ReadText): ReadText {
  const texts = new Map<string, Promise<string | undefined>>();
  return (file) => {
    let text = texts.get(file);
    if (text === undefined) texts.set(file, (text = read(file)));
    return text;
  };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await diskFiles().readText(file);
  } catch (error) {
    if (StudioError.is(error)) return undefined; // missing, a folder, a device, or not readable
    throw error;
  }
}

function slashed(file: string): string {
  return path.sep === '/' ? file : file.split(path.sep).join('/');
}

function samePath(a: string, b: string): boolean {
  const [one, other] = [path.normalize(a), path.normalize(b)];
  return process.platform === 'win32' ? one.toLowerCase() === other.toLowerCase() : one === other;
}
