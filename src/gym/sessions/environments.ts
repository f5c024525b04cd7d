/** Environments of tasks: the tools, worlds, and scorers of a batch, opened here as a worker opens them. */
import { randomBytes } from 'node:crypto';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { partAt, type SubmittedPart, withPart } from '../../config/submission/mix.ts';
import type { Submission } from '../../config/submission.ts';
import { DEFAULT_SANDBOX } from '../../config/submission.ts';
import type { AskLive } from '../../rerun/drive/drive.ts';
import { type MakeEnvironment, withTemporaryEnvironment } from '../../rerun/temporaryEnvironment.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { makeWorkDirectory, removeWorkDirectory } from '../../worker/run/workDirectory.ts';
import type { SeedSession } from '../shapes.ts';
import { GymSession } from './session.ts';

/** Open sessions: each may have processes. */
const MAX_SESSIONS = 1_024;

export interface EnvironmentsOptions {
  /** With the values of `${env:…}`. */
  readonly submission: Submission;
  readonly taskOf: (id: string) => Promise<TaskRecord>;
  readonly readBlob: (sha: string, signal?: AbortSignal) => Promise<Uint8Array>;
  /** Answers the questions of worlds, tools, and scorers to models. */
  readonly ask: AskLive;
  /** Folders that programs never see. */
  readonly hidden: readonly string[];
  /** A session ends after this time without a call. */
  readonly idleMs: number;
  readonly log: (text: string) => void;
}

interface Place {
  readonly environment: MakeEnvironment;
  /** Folder for working directories. */
  readonly work: string;
}

interface Entry {
  readonly session: GymSession;
  /** Ends the session when nobody calls it. */
  idle: NodeJS.Timeout;
  /** Calls that run. */
  calls: number;
}

export class Environments {
  readonly #options: EnvironmentsOptions;
  readonly #open = new Map<string, Entry>();
  readonly #ending = new Set<Promise<void>>();
  /** In a batch with a mix: how many sessions of each task were seeded without a number. */
  readonly #seeded = new Map<string, number>();
  #opening = 0;
  #closed = false;
  #close: () => void = () => undefined;
  #place: Promise<Place> | undefined;
  #over: Promise<void> | undefined;

  constructor(options: EnvironmentsOptions) {
    this.#options = options;
  }

  /** Number of open sessions. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Opens the environment of a task, and of its part of the mix. Throws StudioError, `config` if a tool or the world
   * cannot be opened.
   */
  async seed(request: SeedSession, signal: AbortSignal): Promise<GymSession> {
    const { submission: whole, taskOf, readBlob, ask, hidden, log } = this.#options;
    refuseUnplayable(whole);
    if (this.#open.size + this.#opening >= MAX_SESSIONS)
      throw new StudioError('unavailable', `${MAX_SESSIONS} sessions are open.`, {
        hint: 'End sessions with DELETE /sessions/<id>.',
      });
    this.#opening += 1;
    try {
      const task = await taskOf(request.task_id);
      const part = this.#partOf(request);
      const submission = part === undefined ? whole : withPart(whole, part);
      const { environment, work } = await this.#placeOf();
      const directory = await makeWorkDirectory(work, task, readBlob);
      const { sandbox = DEFAULT_SANDBOX } = submission;
      const own = environment(directory, {
        sandbox: { ...sandbox, hide: [...sandbox.hide, ...hidden] },
        onLog: (text) => log(text.trimEnd()),
      });
      const remove = async (): Promise<void> => {
        await own.pools.endRollout(directory);
        await removeWorkDirectory(directory);
      };
      let session: GymSession;
      try {
        session = await GymSession.open(
          {
            id: randomBytes(16).toString('hex'),
            submission,
            part: part?.name,
            task,
            environment: own,
            ask,
            log,
            remove,
          },
          signal,
        );
      } catch (error) {
        await remove();
        throw error;
      }
      if (this.#closed) {
        await session.close();
        throw ended();
      }
      this.#open.set(session.id, { session, idle: this.#timer(session.id), calls: 0 });
      return session;
    } finally {
      this.#opening -= 1;
    }
  }

  /** Throws StudioError `usage` for a part that the batch does not have. */
  #partOf({ task_id: task, part: name, _ng_rollout_index: index }: SeedSession): SubmittedPart | undefined {
    const { submission } = this.#options;
    const { mix } = submission;
    if (name !== undefined) {
      const part = mix?.find((one) => one.name === name);
      if (part !== undefined) return part;
      throw new StudioError('usage', `The batch has no part ${JSON.stringify(name)}.`, {
        hint: mix === undefined ? 'It has no `mix`.' : `Its parts are ${mix.map((one) => one.name).join(', ')}.`,
      });
    }
    if (mix === undefined) return undefined;
    if (index !== undefined) return partAt(submission, task, index + 1);
    const place = (this.#seeded.get(task) ?? 0) + 1;
    this.#seeded.set(task, place);
    return partAt(submission, task, place);
  }

  /** Runs a call of a session, which does not end meanwhile. Throws `not_found` if there is no such session. */
  async use<T>(id: string, run: (session: GymSession) => Promise<T>): Promise<T> {
    const entry = this.#open.get(id);
    if (entry === undefined)
      throw new StudioError('not_found', 'There is no such session.', {
        hint: `It was deleted, or had no calls for ${this.#options.idleMs / 1000} s. Seed another one.`,
      });
    clearTimeout(entry.idle);
    entry.calls += 1;
    try {
      return await run(entry.session);
    } finally {
      entry.calls -= 1;
      if (entry.calls === 0 && this.#open.get(id) === entry) entry.idle = this.#timer(id);
    }
  }

  /** Ends a session. One that is not open is ended already. */
  async end(id: string): Promise<void> {
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    this.#open.delete(id);
    clearTimeout(entry.idle);
    const ending = entry.session.close();
    this.#ending.add(ending);
    await ending.finally(() => this.#ending.delete(ending));
  }

  /** Ends all sessions, their processes, and their folders. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...[...this.#open.keys()].map((id) => this.end(id)), ...this.#ending]);
    this.#close();
    await this.#over;
  }

  #timer(id: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#options.log(`session ${id} ends: it had no calls for ${this.#options.idleMs / 1000} s`);
      this.end(id).catch(() => undefined); // what it opened ends with the others
    }, this.#options.idleMs).unref();
  }

  /** All sessions share threads and processes for modules, as the rollouts of a worker do. */
  #placeOf(): Promise<Place> {
    if (this.#closed) throw ended();
    if (this.#place !== undefined) return this.#place;
    const opened = deferred<Place>();
    const closed = new Promise<void>((resolve) => {
      this.#close = resolve;
    });
    this.#over = withTemporaryEnvironment(this.#options.readBlob, async (environment, work) => {
      opened.resolve({ environment, work });
      await closed;
    });
    this.#over.catch((error: unknown) => opened.reject(error));
    this.#place = opened.promise;
    return this.#place;
  }
}

function ended(): StudioError {
  return new StudioError('unavailable', 'This server ends.');
}

/** What a session cannot do, it refuses: a trainer would learn from another environment. */
function refuseUnplayable({ agent, world, file }: Submission): void {
  const why =
    agent.team !== undefined
      ? 'is a team, and the policy of a session is one agent'
      : world?.user !== undefined
        ? 'talks with a simulated user, whom a session does not play'
        : undefined;
  if (why !== undefined)
    throw new StudioError('unsupported', `The agent of ${file} ${why}.`, {
      hint: 'Request whole rollouts with POST /run.',
    });
}
