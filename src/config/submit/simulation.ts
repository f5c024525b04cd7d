/**
 * What a simulated world takes from elsewhere: tool definitions, its initial state, and demonstrations. All of it is
 * read once, on the submitting machine, and becomes part of the submission: every attempt sees the same, workers need
 * none of the programs, and a server that changes its tools changes no batch that runs.
 */
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { withFactTools } from '../facts/tools.ts';
import type { Files } from '../files.ts';
import type { LoadedSimulatedWorld } from '../load/world.ts';
import { dirname, joinPath } from '../paths.ts';
import type { DemonstrationSource, SimulationPart, StateSource } from '../schema/simulatedWorld.ts';
import { DEMONSTRATION_TOKENS, demonstrationsOf } from '../simulation/demonstrations.ts';
import { type Recording, toolsOfRecordings } from '../simulation/recording.ts';
import {
  boundedState,
  MAX_STATE_CHARS,
  type QueryRows,
  queryText,
  recordedState,
  type StateTable,
  tablesText,
} from '../simulation/state.ts';
import type { Path, ProblemText } from '../source/parse.ts';
import { type Problem, problemsError } from '../source/problem.ts';
import type { SubmittedTools } from '../submission/tools.ts';
import type { SubmittedSimulatedWorld, ToolDefinition } from '../submission/world.ts';
import { Bundles, type SubmissionBlob } from './blobs.ts';
import { type FactPorts, sentFacts } from './facts.ts';
import { submittedSimulatedWorld, submittedTools } from './sections.ts';

/** Reads on the submitting machine. All of them throw StudioError. */
export interface SimulationPorts extends FactPorts {
  /** Lists the tools of one entry, and calls none of them. `${env:…}` is still as written. */
  listTools(entry: readonly SubmittedTools[], blobs: AsyncIterable<SubmissionBlob>): Promise<readonly ToolDefinition[]>;
  /** Reads tables of a SQLite file. Absent names: all. */
  tables(database: string, names: readonly string[] | undefined): Promise<readonly StateTable[]>;
  /** Runs a query on a SQLite file. `chars`: how many characters its rows may have. */
  queryRows(database: string, query: string, chars: number): Promise<QueryRows>;
  /** Returns what a program prints. `${env:…}` is still as written. */
  run(command: readonly string[], folder: string, seconds: number): Promise<string>;
  /** Reads recorded attempts; a file in `folder` may have several. */
  recordings(reference: string, folder: string): Promise<readonly Recording[]>;
}

/** A simulated world, and what it will be read from. */
export interface PlannedSimulation {
  /** Without what is read. */
  readonly world: SubmittedSimulatedWorld;
  /** Bundles of modules whose tools are listed. They are not sent. */
  readonly bundles: Bundles;
  /** Its pages, if it has facts, and warnings about them. */
  readonly blobs: readonly SubmissionBlob[];
  readonly problems: readonly Problem[];
}

const COMMAND_SECONDS = 60;

/**
 * Returns a simulated world with all that a person may have to permit before it is read. `sent`: gets the modules of
 * its real tools. Throws StudioError `config` for facts that cannot be read.
 */
export async function plannedSimulation(
  world: LoadedSimulatedWorld,
  root: string,
  ports: ConstructorParameters<typeof Bundles>[0],
  sent: Bundles,
): Promise<PlannedSimulation> {
  const { tools, state } = world.simulation;
  const bundles = new Bundles(ports);
  const owner = { ...world, root };
  const [entries, real] = await Promise.all([
    Promise.all(
      tools.map((each) =>
        'entry' in each ? submittedTools(each.entry, each.at, owner, ports.files, bundles) : Promise.resolve([]),
      ),
    ),
    Promise.all(
      (world.file.real?.tools ?? []).map((entry, index) =>
        submittedTools(entry, ['real', 'tools', index], owner, ports.files, sent),
      ),
    ),
  ]);
  const { blobs, problems, ...facts } = await sentFacts(world, root, ports);
  const listed = entries.flat();
  const folder = ports.files.absolute(dirname(world.path));
  const sources = {
    ...(listed.length === 0 ? {} : { tools: listed }),
    ...(state?.command === undefined ? {} : { command: [...state.command], cwd: folder }),
  };
  return {
    world: {
      ...submittedSimulatedWorld(world, root),
      ...facts,
      ...(real.length === 0 ? {} : { real_tools: real.flat() }),
      ...(Object.keys(sources).length === 0 ? {} : { sources }),
    },
    bundles,
    blobs,
    problems,
  };
}

/**
 * Reads what a simulated world takes from elsewhere. Throws StudioError `config`, with the place, if something cannot
 * be read.
 */
export async function readSimulation(
  loaded: LoadedSimulatedWorld,
  { world, bundles }: PlannedSimulation,
  root: string,
  files: Files,
  ports: SimulationPorts,
): Promise<{ readonly world: SubmittedSimulatedWorld; readonly problems: readonly Problem[] }> {
  const reader = new Reader(loaded, root, files, ports);
  const { state, demonstrations } = loaded.simulation;
  const definitions = withFactTools(loaded.file.facts, await reader.definitions(world.sources?.tools ?? [], bundles));
  const texts = {
    ...world.texts,
    ...(state === undefined ? {} : { state: await reader.state(state) }),
    ...(demonstrations === undefined ? {} : { demonstrations: await reader.demonstrations(demonstrations) }),
  };
  const literal: SimulationPart[] = [
    ...(state?.sql === undefined && state?.recorded === undefined ? [] : (['state'] as const)),
    ...(demonstrations === undefined ? [] : (['demonstrations'] as const)),
  ];
  return {
    world: { ...world, definitions, texts, ...(literal.length === 0 ? {} : { literal }) },
    problems: reader.problems,
  };
}

class Reader {
  readonly problems: Problem[] = [];
  readonly #world: LoadedSimulatedWorld;
  readonly #root: string;
  readonly #files: Files;
  readonly #ports: SimulationPorts;
  readonly #recordings = new Map<string, Promise<readonly Recording[]>>();

  constructor(world: LoadedSimulatedWorld, root: string, files: Files, ports: SimulationPorts) {
    this.#world = world;
    this.#root = root;
    this.#files = files;
    this.#ports = ports;
  }

  async definitions(listed: readonly SubmittedTools[], bundles: Bundles): Promise<ToolDefinition[]> {
    const found = new Map<string, ToolDefinition>();
    for (const each of this.#world.simulation.tools) {
      const { at } = each;
      const tools =
        'definitions' in each
          ? each.definitions
          : 'recorded' in each
            ? await this.#recordedTools(at, each.recorded, each.tools)
            : await this.#at(at, () =>
                this.#ports.listTools(
                  listed.filter(({ position }) => isAt(position, this.#world.parsed.valueRange(at))),
                  { [Symbol.asyncIterator]: () => bundles.blobs() },
                ),
              );
      for (const tool of tools) {
        if (found.has(tool.name))
          throw this.#problem(at, {
            code: 'conflict',
            message: `two tools are named \`${tool.name}\``,
            hint: 'Remove one of them, or select tools with `tools:`.',
          });
        found.set(tool.name, tool);
      }
    }
    return [...found.values()];
  }

  async #recordedTools(
    at: Path,
    reference: string,
    only: readonly string[] | undefined,
  ): Promise<readonly ToolDefinition[]> {
    const tools = toolsOfRecordings(await this.#read([...at, 'recorded'], reference));
    const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
    if (tools.length > 0 && missing === undefined)
      return only === undefined ? tools : tools.filter(({ name }) => only.includes(name));
    throw this.#problem(at, {
      code: 'value',
      message: missing === undefined ? `${reference} has no tools` : `${reference} has no tool \`${missing}\``,
      hint:
        missing === undefined
          ? 'Choose an attempt whose agent had tools.'
          : `Available tools: ${tools.map(({ name }) => name).join(', ')}.`,
    });
  }

  async state(source: StateSource): Promise<string> {
    const { text, cut } = boundedState(await this.#stateText(source));
    if (text.trim() === '')
      throw this.#problem(['state'], {
        code: 'value',
        message: 'the initial state is empty',
        hint: 'Check what it is taken from, or remove `state`.',
      });
    if (cut > 0)
      this.#warn(['state'], {
        code: 'value',
        message: `the initial state is too long: ${cut.toLocaleString('en')} characters are left out`,
        hint: 'Select tables, or take a smaller state: a world model has to read all of it at each call.',
      });
    return text;
  }

  async #stateText({ sql, file, files, command, timeout, recorded }: StateSource): Promise<string> {
    if (sql !== undefined) return await this.#sqlText(sql);
    if (command !== undefined)
      return await this.#at(['state', 'command'], () =>
        this.#ports.run(command, this.#files.absolute(dirname(this.#world.path)), timeout ?? COMMAND_SECONDS),
      );
    if (file !== undefined) return await this.#text(['state', 'file'], file);
    if (files !== undefined) {
      const texts: string[] = [];
      for (const [index, written] of files.entries())
        texts.push(`## File ${written}\n${await this.#text(['state', 'files', index], written)}`);
      return texts.join('\n\n');
    }
    const [recording, other] = await this.#read(['state', 'recorded'], recorded ?? '');
    if (recording !== undefined && other === undefined) return recordedState(recording);
    throw this.#problem(['state', 'recorded'], {
      code: 'value',
      message: `${recorded ?? ''} has ${recording === undefined ? 'no' : 'several'} attempts`,
      hint: 'Choose one attempt.',
    });
  }

  async #sqlText({ database, tables, queries = [] }: NonNullable<StateSource['sql']>): Promise<string> {
    const file = this.#path(database);
    const texts: string[] = [];
    if (tables !== undefined || queries.length === 0)
      texts.push(tablesText(await this.#at(['state', 'sql', 'database'], () => this.#ports.tables(file, tables))));
    // Each part gets its share of what a state can show.
    const chars = Math.floor(MAX_STATE_CHARS / (queries.length + texts.length));
    for (const [index, query] of queries.entries()) {
      const at: Path = ['state', 'sql', 'queries', index];
      const found = await this.#at(
        at,
        () => this.#ports.queryRows(file, query, chars),
        'Correct the query, or let it read less.',
      );
      texts.push(queryText(query, found));
      if (found.more)
        this.#warn(at, {
          code: 'value',
          message:
            'the query returns more rows than the state can show: it has ' +
            `${plural(found.rows.length, 'row')} of them`,
          hint: 'Select fewer rows or columns: a world model has to read all of it at each call.',
        });
    }
    return texts.join('\n\n');
  }

  async demonstrations({ recorded, calls, tokens }: DemonstrationSource): Promise<string> {
    const at: Path = ['demonstrations', 'recorded'];
    const read: Recording[] = [];
    const references = typeof recorded === 'string' ? [recorded] : recorded;
    for (const reference of references) read.push(...(await this.#read(at, reference)));
    const recordedCalls = read.flatMap((recording) => recording.calls);
    const only = calls === undefined ? undefined : new Set(calls);
    const unknown = calls?.findIndex((seq) => !recordedCalls.some((call) => call.seq === seq)) ?? -1;
    if (unknown >= 0)
      throw this.#problem(['demonstrations', 'calls', unknown], {
        code: 'value',
        message: `no recorded call with a result begins at event ${calls?.[unknown] ?? ''}`,
        hint: 'Write the SEQ of a tool call, as `rollout show` prints it.',
      });
    const shown = demonstrationsOf(recordedCalls, tokens ?? DEMONSTRATION_TOKENS, only);
    if (shown.calls === 0)
      throw this.#problem(at, {
        code: 'value',
        message: recordedCalls.length === 0 ? 'no call with a result is recorded' : 'no recorded call fits',
        hint: recordedCalls.length === 0 ? 'Choose an attempt with tool calls.' : 'Increase `tokens`.',
      });
    if (only !== undefined && shown.left > 0)
      this.#warn(['demonstrations'], {
        code: 'value',
        message: `${shown.left} of ${only.size} calls do not fit`,
        hint: 'Increase `tokens`.',
      });
    return shown.text;
  }

  #read(at: Path, reference: string): Promise<readonly Recording[]> {
    const known = this.#recordings.get(reference);
    if (known !== undefined) return known;
    const read = this.#at(at, () => this.#ports.recordings(reference, this.#files.absolute(dirname(this.#world.path))));
    this.#recordings.set(reference, read);
    return read;
  }

  #text(at: Path, written: string): Promise<string> {
    return this.#at(at, () => this.#files.readText(this.#path(written)));
  }

  #path(written: string): string {
    return this.#files.absolute(joinPath(dirname(this.#world.path), written));
  }

  /** Adds the place to an error. `fix`: what to do if the error does not say it. */
  async #at<T>(at: Path, read: () => Promise<T>, fix = 'Check what it is taken from.'): Promise<T> {
    try {
      return await read();
    } catch (error) {
      // A person has to decide, or somebody stopped it: the file is not to blame.
      if (!StudioError.is(error) || error.code === 'forbidden' || error.code === 'cancelled') throw error;
      const { message, hint = fix } = error;
      throw this.#problem(at, { code: 'value', message: message.replace(/\.$/, ''), hint });
    }
  }

  #problem(at: Path, text: ProblemText): StudioError {
    return problemsError([this.#world.parsed.problem(at, text)], this.#root);
  }

  #warn(at: Path, text: ProblemText): void {
    this.problems.push(this.#world.parsed.problem(at, { ...text, severity: 'warning' }));
  }
}

function isAt(
  position: { readonly line: number; readonly column: number } | undefined,
  { line, column }: { readonly line: number; readonly column: number },
): boolean {
  return position?.line === line && position.column === column;
}
