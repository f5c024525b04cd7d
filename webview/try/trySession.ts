/** One tool that is tried: what its form holds, the call that is made, and those that were. */
import { Emitter } from '../../src/common/emitter.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/common/json.ts';
import {
  type ChosenWorld,
  type ListedTool,
  type PageToTry,
  type TriedCall,
  type TryToPage,
  type TryWorld,
  tryToPage,
} from '../../src/protocol/tryPage.ts';
import { asJson, type FormProblem, firstMembers, type Members, problemsOf } from './form/value.ts';

/** What the panel is in: an editor, or a story. */
interface TryHost {
  post(message: PageToTry): void;
  /** Messages as they come, not parsed yet. */
  listen(take: (data: unknown) => void): void;
}

export interface Try {
  /** Of this panel, from 1 on. */
  readonly number: number;
  readonly at: number;
  readonly arguments: Json;
  /** `told`: what was printed until then; a call that was made has it itself. */
  readonly outcome:
    | { readonly call: TriedCall }
    | { readonly why: 'failed' | 'cancelled'; readonly text: string; readonly told: readonly string[] };
}

export interface RunningTry {
  readonly since: number;
  readonly arguments: Json;
  /** What it printed so far. */
  readonly told: readonly string[];
}

/** Tries that are kept, the newest first. */
const MAX_TRIES = 20;
const MAX_TOLD = 1_000;

export class TrySession {
  readonly #host: TryHost;
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  tool: ListedTool | undefined;
  /** The file it is in, as people know it. */
  file = '';
  /** Why the file could not be read anew. */
  problem: string | undefined;
  /** Those it can be called in. */
  worlds: readonly TryWorld[] = [];
  /** The one it is called in. */
  world: ChosenWorld = null;
  members: Members = {};
  /** While the arguments are edited as JSON: the text. */
  text: string | undefined;
  running: RunningTry | undefined;
  tries: readonly Try[] = [];
  /** Of the try that is looked at; the newest, unless one was picked. */
  picked: number | undefined;
  /** Somebody wanted to run it as it is: then also what is missing is a problem. */
  wanted = false;

  constructor(host: TryHost) {
    this.#host = host;
    host.listen((data) => {
      const message = tryToPage.safeParse(data);
      if (message.success) this.#take(message.data);
      else console.error('a message of the extension could not be read', message.error.issues[0]?.message);
    });
    host.post({ type: 'ready' });
  }

  get shown(): Try | undefined {
    return this.tries.find(({ number }) => number === this.picked) ?? this.tries[0];
  }

  /** What is wrong with the arguments. */
  get problems(): readonly FormProblem[] {
    if (this.tool === undefined) return [];
    if (this.text !== undefined && argumentsIn(this.text) === undefined)
      return [{ path: [], text: 'This is not a JSON object.' }];
    const { parameters } = this.tool;
    return problemsOf(parameters, parameters, this.members, true).filter(
      ({ missing }) => this.wanted || missing !== true,
    );
  }

  write(members: Members): void {
    this.members = members;
    this.#tell();
  }

  /** Chooses the world of a batch, for its first task; undefined: none. */
  chooseWorld(batch: string | undefined): void {
    this.world = firstOf(this.worlds.find((one) => one.batch === batch));
    this.#tell();
  }

  /** Chooses for which task the world is opened. */
  chooseTask(task: string): void {
    if (this.world !== null) this.world = { ...this.world, task };
    this.#tell();
  }

  /** Goes from fields to text, and back where the text is an object. */
  asText(on: boolean): void {
    if (on) this.text = JSON.stringify(asJson(this.members) ?? {}, null, 2);
    else if (this.text !== undefined && argumentsIn(this.text) !== undefined) this.text = undefined;
    this.#tell();
  }

  writeText(text: string): void {
    this.text = text;
    this.members = argumentsIn(text) ?? this.members;
    this.#tell();
  }

  /** Makes the call, or tells what keeps it from being made: the first of that. */
  run(): FormProblem | undefined {
    if (this.running !== undefined || this.tool === undefined) return undefined;
    this.wanted = true;
    const [problem] = this.problems;
    if (problem === undefined) {
      const given = asJson(this.members) ?? {};
      this.running = { since: Date.now(), arguments: given, told: [] };
      this.picked = undefined;
      this.#host.post({ type: 'run', arguments: given, ...(this.worlds.length === 0 ? {} : { world: this.world }) });
    }
    this.#tell();
    return problem;
  }

  cancel(): void {
    if (this.running !== undefined) this.#host.post({ type: 'cancel' });
  }

  pick(number: number): void {
    this.picked = number;
    this.#tell();
  }

  /** Puts the arguments of an earlier try into the form. */
  putBack({ arguments: given }: Try): void {
    this.#fill(isJsonObject(given) ? given : {});
    this.#tell();
  }

  post(message: Extract<PageToTry, { type: 'source' | 'document' | 'copy' }>): void {
    this.#host.post(message);
  }

  #take(message: TryToPage): void {
    switch (message.type) {
      case 'tool':
        this.problem = message.problem;
        this.file = message.file;
        if (this.tool === undefined) this.members = firstMembers(message.tool.parameters);
        this.tool = message.tool;
        if (message.worlds !== undefined) this.#offer(message.worlds, message.world);
        if (message.arguments !== undefined) this.#fill(message.arguments);
        break;
      case 'output':
        if (this.running !== undefined)
          this.running = { ...this.running, told: [...this.running.told, message.text].slice(-MAX_TOLD) };
        break;
      case 'result':
        this.#ended({ call: message.call });
        break;
      case 'noResult':
        this.#ended({ why: message.why, text: message.text, told: printedIn(this.running?.told ?? [], message.text) });
    }
    this.#tell();
  }

  /**
   * What was chosen stays while it is there: what `kept` says at first. The first world, unless somebody wanted none.
   */
  #offer(worlds: readonly TryWorld[], kept: ChosenWorld | undefined): void {
    const chosen = this.worlds.length > 0 ? this.world : kept;
    this.worlds = worlds;
    const there = worlds.some(
      ({ batch, tasks, more }) => batch === chosen?.batch && (more || tasks.includes(chosen.task)),
    );
    this.world =
      chosen === null || (chosen !== undefined && there)
        ? chosen
        : firstOf(worlds.find(({ batch }) => batch === chosen?.batch) ?? worlds[0]);
  }

  #fill(given: JsonObject): void {
    this.members = given;
    if (this.text !== undefined) this.text = JSON.stringify(given, null, 2);
  }

  #ended(outcome: Try['outcome']): void {
    if (this.running === undefined) return;
    const { since, arguments: given } = this.running;
    this.tries = [
      { number: (this.tries[0]?.number ?? 0) + 1, at: since, arguments: given, outcome },
      ...this.tries,
    ].slice(0, MAX_TRIES);
    this.running = undefined;
  }

  #tell(): void {
    this.#changed.fire(undefined);
  }
}

function firstOf(world: TryWorld | undefined): ChosenWorld {
  return world === undefined ? null : { batch: world.batch, task: world.tasks[0] ?? '' };
}

/** What is left without the command's own last words, which say again how it ended. */
function printedIn(told: readonly string[], text: string): readonly string[] {
  return told.slice(0, told.findLastIndex((line) => !line.startsWith('rollout: ') && !text.includes(line)) + 1);
}

function argumentsIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // told beside the text
  }
}
