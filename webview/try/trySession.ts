/** State of the “Try Tool…” panel: the arguments in its form, the running call, and earlier calls. */
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
import { asJson, type FormProblem, firstMembers, type Members, type Path, problemsOf } from './form/value.ts';

/** The environment of the panel: an editor or a story. */
interface TryHost {
  post(message: PageToTry): void;
  /** Calls `listener` with each message, unparsed. */
  listen(listener: (data: unknown) => void): void;
}

export interface Try {
  /** Counts from 1 in each panel. */
  readonly number: number;
  readonly at: number;
  readonly arguments: Json;
  /** `printed`: lines printed until the end. A call contains its own log. */
  readonly outcome:
    | { readonly call: TriedCall }
    | { readonly why: 'failed' | 'cancelled'; readonly text: string; readonly printed: readonly string[] };
}

export interface RunningTry {
  readonly since: number;
  readonly arguments: Json;
  /** Lines printed so far. */
  readonly printed: readonly string[];
}

const MAX_TRIES = 20;
const MAX_PRINTED_LINES = 1_000;

export class TrySession {
  readonly #host: TryHost;
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  tool: ListedTool | undefined;
  /** Display path of its file. */
  file = '';
  /** Why the file could not be reloaded. */
  problem: string | undefined;
  /** Worlds it can be called in. */
  worlds: readonly TryWorld[] = [];
  world: ChosenWorld = null;
  members: Members = {};
  /** The JSON text, while the arguments are edited as JSON. */
  text: string | undefined;
  running: RunningTry | undefined;
  /** Newest first. */
  tries: readonly Try[] = [];
  /** Number of the selected try. Absent: the newest. */
  selectedNumber: number | undefined;
  /** Distinct arguments of recorded calls, newest first. */
  recorded: readonly JsonObject[] = [];
  /** After the first attempt to run, untouched fields have problems, too. */
  runRequested = false;
  /** Fields that the user left, and the JSON text once it was edited. */
  readonly #touched = new Set<string>();
  /** Whether the arguments are not the initial ones of the form. */
  #filled = false;

  constructor(host: TryHost) {
    this.#host = host;
    host.listen((data) => {
      const message = tryToPage.safeParse(data);
      if (message.success) this.#handle(message.data);
      else console.error('invalid message of the extension:', message.error.issues[0]?.message);
    });
    host.post({ type: 'ready' });
  }

  get selected(): Try | undefined {
    return this.tries.find(({ number }) => number === this.selectedNumber) ?? this.tries[0];
  }

  /** Problems of the arguments that the user has entered, or of all arguments once the tool was to run. */
  get problems(): readonly FormProblem[] {
    const all = this.#allProblems();
    if (this.runRequested) return all;
    // The text is one field. In the form, nobody can touch what concerns all arguments.
    if (this.text !== undefined) return this.#touched.has(keyOf([])) ? all : [];
    return all.filter(({ path }) => path.length === 0 || this.#touched.has(keyOf(path)));
  }

  #allProblems(): readonly FormProblem[] {
    if (this.tool === undefined) return [];
    if (this.text !== undefined && argumentsIn(this.text) === undefined)
      return [{ path: [], text: 'Must be a JSON object.' }];
    const { parameters } = this.tool;
    return problemsOf(parameters, parameters, this.members, true);
  }

  /** Called when the focus leaves a field. */
  touch(path: Path): void {
    if (this.#touched.has(keyOf(path))) return;
    this.#touched.add(keyOf(path));
    this.#notify();
  }

  setMembers(members: Members): void {
    this.members = members;
    this.#filled = true;
    this.#notify();
  }

  /** Chooses the world of a batch and its first task. undefined: no world. */
  chooseWorld(batch: string | undefined): void {
    this.world = firstTask(this.worlds.find((one) => one.batch === batch));
    this.#notify();
  }

  /** Chooses the task to open the world for. */
  chooseTask(task: string): void {
    if (this.world !== null) this.world = { ...this.world, task };
    this.#notify();
  }

  /** Switches between form and JSON text. Stays in the text while it is not a JSON object. */
  editAsText(on: boolean): void {
    if (on) this.text = JSON.stringify(asJson(this.members) ?? {}, null, 2);
    else if (this.text !== undefined && argumentsIn(this.text) !== undefined) this.text = undefined;
    this.#notify();
  }

  setText(text: string): void {
    this.text = text;
    this.#filled = true;
    this.#touched.add(keyOf([]));
    this.members = argumentsIn(text) ?? this.members;
    this.#notify();
  }

  /** Starts the call, or returns the first problem that prevents it. */
  run(): FormProblem | undefined {
    if (this.running !== undefined || this.tool === undefined) return undefined;
    this.runRequested = true;
    const [problem] = this.problems; // after the request: of all fields
    if (problem === undefined) {
      const args = asJson(this.members) ?? {};
      this.running = { since: Date.now(), arguments: args, printed: [] };
      this.selectedNumber = undefined;
      this.#host.post({ type: 'run', arguments: args, ...(this.worlds.length === 0 ? {} : { world: this.world }) });
    }
    this.#notify();
    return problem;
  }

  cancel(): void {
    if (this.running !== undefined) this.#host.post({ type: 'cancel' });
  }

  select(number: number): void {
    this.selectedNumber = number;
    this.#notify();
  }

  /** Copies the arguments of an earlier try, or of a recorded call, to the form. */
  restoreArguments({ arguments: args }: { readonly arguments: Json }): void {
    this.#setArguments(isJsonObject(args) ? args : {});
    this.#notify();
  }

  post(message: Extract<PageToTry, { type: 'source' | 'document' | 'copy' }>): void {
    this.#host.post(message);
  }

  #handle(message: TryToPage): void {
    switch (message.type) {
      case 'tool':
        this.problem = message.problem;
        this.file = message.file;
        if (this.tool === undefined) this.members = firstMembers(message.tool.parameters);
        this.tool = message.tool;
        if (message.worlds !== undefined) this.#setWorlds(message.worlds, message.world);
        if (message.recorded !== undefined) this.#setRecorded(message.recorded);
        if (message.arguments !== undefined) this.#setArguments(message.arguments);
        break;
      case 'output':
        if (this.running !== undefined)
          this.running = {
            ...this.running,
            printed: [...this.running.printed, message.text].slice(-MAX_PRINTED_LINES),
          };
        break;
      case 'result':
        this.#finish({ call: message.call });
        break;
      case 'noResult':
        this.#finish({
          why: message.why,
          text: message.text,
          printed: withoutFinalMessage(this.running?.printed ?? [], message.text),
        });
    }
    this.#notify();
  }

  /** Keeps the user's choice (at first `saved`) while it exists. null is a choice, too. Default: the first world. */
  #setWorlds(worlds: readonly TryWorld[], saved: ChosenWorld | undefined): void {
    const chosen = this.worlds.length > 0 ? this.world : saved;
    this.worlds = worlds;
    const exists = worlds.some(
      ({ batch, tasks, more }) => batch === chosen?.batch && (more || tasks.includes(chosen.task)),
    );
    this.world =
      chosen === null || (chosen !== undefined && exists)
        ? chosen
        : firstTask(worlds.find(({ batch }) => batch === chosen?.batch) ?? worlds[0]);
  }

  /** Fills an empty form with the newest recorded arguments, which are right more often than empty fields. */
  #setRecorded(recorded: readonly JsonObject[]): void {
    this.recorded = recorded;
    const [newest] = recorded;
    if (newest !== undefined && !this.#filled) this.#setArguments(newest);
  }

  #setArguments(args: JsonObject): void {
    this.members = args;
    this.#filled = true;
    this.#touched.clear();
    if (this.text !== undefined) this.text = JSON.stringify(args, null, 2);
  }

  #finish(outcome: Try['outcome']): void {
    if (this.running === undefined) return;
    const { since, arguments: args } = this.running;
    this.tries = [
      { number: (this.tries[0]?.number ?? 0) + 1, at: since, arguments: args, outcome },
      ...this.tries,
    ].slice(0, MAX_TRIES);
    this.running = undefined;
  }

  #notify(): void {
    this.#changed.fire(undefined);
  }
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

function firstTask(world: TryWorld | undefined): ChosenWorld {
  return world === undefined ? null : { batch: world.batch, task: world.tasks[0] ?? '' };
}

/** Returns the lines without the command's final message, which repeats `text`. */
function withoutFinalMessage(lines: readonly string[], text: string): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => !line.startsWith('rollout: ') && !text.includes(line)) + 1);
}

function argumentsIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // shown as a problem
  }
}
