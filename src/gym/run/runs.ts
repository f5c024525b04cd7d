/**
 * `POST /run`: one attempt for each row, through a group of size 1.
 *
 * NeMo Gym's client repeats a request whose connection broke, without a number that says so. So an attempt whose client
 * is gone goes on, and the next equal row gets it. A row that was answered is done: an equal one is a new sample, as in
 * the next epoch. Rows with both indices name one rollout: while it runs, an equal row joins it.
 */
import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import type { FinishedGroup, RequestGroup } from '../../protocol/groups.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { GymRow } from '../shapes.ts';
import type { GroupFeed } from './feed.ts';
import type { Reconnecting } from './reconnecting.ts';
import { failureOf, failureReply, scoredReply } from './reply.ts';
import { nameOfRow, samplingOfRow, taskOfRow } from './task.ts';

export interface RunsOptions {
  readonly server: Reconnecting;
  readonly feed: GroupFeed;
  readonly batch: string;
  readonly dataset: ReadonlyMap<string, TaskRecord>;
  readonly log: (text: string) => void;
  /** Ends all requests. */
  readonly signal: AbortSignal;
}

/** A group that was requested for a row, until its answer was delivered. */
interface Attempt {
  readonly group: string;
  readonly ended: Promise<FinishedGroup>;
  /** Clients that wait for it. */
  waiting: number;
}

/** What a row asks for. */
type Wanted = Pick<RequestGroup, 'task' | 'sampling'>;

/** An answer, and what to do once the client has it. */
export interface RunAnswer {
  readonly body: JsonObject;
  readonly delivered: () => void;
}

export class Runs {
  readonly #options: RunsOptions;
  /** By name of the row. */
  readonly #open = new Map<string, Attempt[]>();
  /** How many groups were requested for rows with the same name. */
  readonly #requested = new Map<string, number>();

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** Attempts that run, or whose answer nobody has. */
  get size(): number {
    return [...this.#open.values()].reduce((sum, some) => sum + some.length, 0);
  }

  /** Throws StudioError for a row that cannot be run. Everything that happens to its attempt is an answer. */
  async run(row: GymRow, client: AbortSignal): Promise<RunAnswer> {
    const { dataset, server } = this.#options;
    const sampling = samplingOfRow(row);
    const task = taskOfRow(row, dataset);
    const name = nameOfRow(row);
    const attempt = this.#attemptFor(
      name,
      { task, ...(sampling === undefined ? {} : { sampling }) },
      isOneRollout(row),
    );
    const signal = AbortSignal.any([client, this.#options.signal]);
    attempt.waiting += 1;
    // A client that has no answer comes again, or not: the attempt stays for it.
    client.addEventListener('abort', () => (attempt.waiting -= 1), { once: true });
    try {
      const group = await raced(attempt.ended, signal);
      const [member] = group.members;
      const body =
        group.usable && member !== undefined
          ? await server.run((api) => scoredReply(api, row, group, member.rollout, signal), signal)
          : this.#failure(row, group);
      return { body, delivered: () => this.#forget(name, attempt) };
    } catch (error) {
      signal.throwIfAborted();
      this.#forget(name, attempt);
      if (!StudioError.is(error, 'unavailable')) throw error;
      // The server did not come back: it is not the attempt's fault, and nobody knows how it ended.
      const lost = failureReply(row, 'kill_shaped', error.message, attempt.group);
      return { body: lost, delivered: () => undefined };
    }
  }

  #failure(row: GymRow, group: FinishedGroup): JsonObject {
    const { failure, why } = failureOf(group);
    this.#options.log(`${group.group}: no reward (${failure}): ${why}`);
    return failureReply(row, failure, why, group.group);
  }

  /** Returns the attempt that waits for this row's client, or requests another one. */
  #attemptFor(name: string, wanted: Wanted, joins: boolean): Attempt {
    const open = this.#open.get(name) ?? [];
    const abandoned = open.find(({ waiting }) => waiting <= 0) ?? (joins ? open[0] : undefined);
    if (abandoned !== undefined) return abandoned;
    const number = (this.#requested.get(name) ?? 0) + 1;
    this.#requested.set(name, number);
    const group = `${name}.${number}`;
    const attempt: Attempt = { group, ended: this.#request(group, wanted), waiting: 0 };
    attempt.ended.catch(() => undefined); // its client may be gone
    this.#open.set(name, [...open, attempt]);
    return attempt;
  }

  async #request(group: string, wanted: Wanted): Promise<FinishedGroup> {
    const { server, feed, batch, signal } = this.#options;
    const ended = feed.of(group);
    try {
      await server.run((api) => api.requestGroup({ batch, group, ...wanted }, signal), signal);
    } catch (error) {
      feed.drop(group);
      throw error;
    }
    return ended;
  }

  #forget(name: string, attempt: Attempt): void {
    const rest = (this.#open.get(name) ?? []).filter((one) => one !== attempt);
    if (rest.length === 0) this.#open.delete(name);
    else this.#open.set(name, rest);
  }
}

function isOneRollout({ _ng_task_index: task, _ng_rollout_index: rollout }: GymRow): boolean {
  return task !== undefined && rollout !== undefined;
}

/** Rejects with the signal's reason when it aborts. */
function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
