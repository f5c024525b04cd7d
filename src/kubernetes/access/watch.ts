/**
 * Follows the objects of a kind: a list, and every change after it. Survives what happens to watches: streams that end
 * (the API server ends each after a while) or go silent, `410 Gone` (the API server keeps little history), lines that
 * are not JSON, and API servers that are down. After a new list, it reports what vanished while nobody watched.
 *
 * `Watch` and `ListWatch` (`makeInformer`) of @kubernetes/client-node 2.0.1 reconnect after silence (30 s) and list
 * again after 410, but did not survive the following, each observed against an API server of a test:
 * - A line that is not JSON is skipped: a lost DELETED was never made up for, since the next line moves the version on.
 * - `ListWatch.stop()` while a watch connects stops nothing: the stream stayed open, and its events were delivered.
 * - A handler that throws ends the process by an unhandled rejection; handlers that return promises are not awaited.
 * - A connection that is cut ("terminated") and a 503 stop it for good; whoever uses it has to restart it.
 * - The body of a refusal is dropped: a 403 is `Error: Forbidden`, without the right that is missing.
 */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cluster, ListOptions } from './cluster.ts';
import { collectionPath, groupOf, KINDS, type Kind } from './kinds.ts';
import { responseError } from './kubeErrors.ts';
import { type ObjectOf, readObject } from './objects.ts';
import { readLines, readText } from './responseText.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface WatchOptions<K extends Kind> {
  /** Ends the watch, which then resolves. */
  readonly signal: AbortSignal;
  /** Receives all objects at the start, and again whenever the list had to be read again. */
  readonly onList: (items: readonly ObjectOf<K>[]) => void | Promise<void>;
  readonly onEvent: (type: WatchEventType, object: ObjectOf<K>) => void | Promise<void>;
  /**
   * Receives, before `onList`, the last state of an object that a new list no longer has: it vanished while nobody
   * watched.
   */
  readonly onGone?: (object: ObjectOf<K>) => void | Promise<void>;
  /** Called once when the API server cannot be reached, and with undefined when it can be again. */
  readonly onTrouble?: (error: StudioError | undefined) => void;
  /** How long one watch runs before the next continues where it ended. */
  readonly watchSeconds?: number;
  /** How long a watch may stay silent after that. */
  readonly silentMs?: number;
}

const WATCH_SECONDS = 60;
/** A watch that is silent for longer than it may run is dead: a machine slept, or a network changed. */
const SILENT_MS = 15_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** A watch that ran for this long was healthy. */
const STEADY_MS = 5_000;

/** A line of a watch. */
const watchLine = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({}),
});
const versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const errorObject = z.looseObject({ code: z.number().optional(), message: z.string().optional() });

/**
 * Lists and watches until `signal` aborts. Rejects if another attempt cannot help: the credentials are not accepted,
 * the account lacks the right, or a handler threw.
 */
export async function watchList<K extends Kind>(
  cluster: Cluster,
  kind: K,
  selector: Omit<ListOptions, 'signal'>,
  options: WatchOptions<K>,
): Promise<void> {
  const watch = new Watch(cluster, kind, selector, options);
  const { signal } = options;
  let wait = FIRST_RETRY_MS;
  let isDown = false;
  const onHealthy = (): void => {
    if (isDown) options.onTrouble?.(undefined);
    isDown = false;
  };
  while (!isAborted(signal)) {
    const startedAt = performance.now();
    let isExpired = false;
    try {
      await watch.run(onHealthy);
    } catch (error) {
      if (isAborted(signal)) return;
      if (!StudioError.is(error) || !TEMPORARY.has(error.code)) throw error;
      if (error.code === 'gone') {
        watch.forget();
        isExpired = true;
      } else {
        if (!isDown) options.onTrouble?.(error);
        isDown = true;
      }
    }
    // A watch that ran for a while continues at once; one that keeps ending right after its start does not.
    const isSteady = performance.now() - startedAt >= STEADY_MS;
    if (isSteady) wait = FIRST_RETRY_MS;
    if (!isDown && (isSteady || (isExpired && wait === FIRST_RETRY_MS))) {
      wait = isSteady ? wait : wait * 2;
      continue;
    }
    await sleep(wait * (0.5 + Math.random()), signal).catch(() => undefined);
    wait = Math.min(wait * 2, MAX_RETRY_MS);
  }
}

const TEMPORARY: ReadonlySet<string> = new Set(['unavailable', 'gone']);

/** A function, so that TypeScript does not carry the result of one check over an await. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

class Watch<K extends Kind> {
  readonly #cluster: Cluster;
  readonly #kind: K;
  readonly #selector: Omit<ListOptions, 'signal'>;
  readonly #options: WatchOptions<K>;
  /** The last known objects by their uids. */
  readonly #objects = new Map<string, ObjectOf<K>>();
  /** Where the next watch continues; undefined: a new list comes first. */
  #version: string | undefined;

  constructor(cluster: Cluster, kind: K, selector: Omit<ListOptions, 'signal'>, options: WatchOptions<K>) {
    this.#cluster = cluster;
    this.#kind = kind;
    this.#selector = selector;
    this.#options = options;
  }

  /** Makes the next watch start with a list. */
  forget(): void {
    this.#version = undefined;
  }

  /** Reads the list if needed, then watches until the stream ends. */
  async run(onHealthy: () => void): Promise<void> {
    if (this.#version === undefined) {
      await this.#list();
      onHealthy();
    }
    await this.#watch(onHealthy);
  }

  async #list(): Promise<void> {
    const { items, resourceVersion } = await this.#cluster.listAt(this.#kind, {
      ...this.#selector,
      signal: this.#options.signal,
    });
    const keys = new Set(items.map(keyOf));
    const vanished = [...this.#objects].filter(([key]) => !keys.has(key));
    for (const [key, object] of vanished) {
      this.#objects.delete(key);
      await this.#options.onGone?.(object);
    }
    for (const item of items) this.#objects.set(keyOf(item), item);
    await this.#options.onList(items);
    this.#version = resourceVersion;
  }

  async #watch(onHealthy: () => void): Promise<void> {
    const seconds = this.#options.watchSeconds ?? WATCH_SECONDS;
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(), seconds * 1000 + (this.#options.silentMs ?? SILENT_MS));
    let body: Readable | undefined;
    try {
      const signal = AbortSignal.any([this.#options.signal, silent.signal]);
      const { namespaced, plural } = KINDS[this.#kind];
      const namespace =
        namespaced && this.#selector.namespace !== 'all'
          ? (this.#selector.namespace ?? this.#cluster.namespace)
          : undefined;
      const query = {
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(Math.ceil(seconds)),
        resourceVersion: this.#version,
        labelSelector: this.#selector.labels,
        fieldSelector: this.#selector.fields,
      };
      const answer = await this.#cluster.connection.stream(collectionPath(this.#kind, namespace), query, signal);
      body = answer.body;
      if (answer.status !== 200) {
        let text = '';
        for await (const piece of readText(answer.body)) text += piece;
        throw responseError(
          { status: answer.status, text, skewMs: answer.skewMs },
          { verb: 'watch', resource: plural, group: groupOf(this.#kind), namespace },
          this.#cluster.context,
        );
      }
      onHealthy();
      await this.#lines(readLines(answer.body));
    } catch (error) {
      // Silence ends a watch like anything else: the next one continues where it was.
      if (!silent.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      body?.destroy();
    }
  }

  async #lines(lines: AsyncGenerator<string, void, undefined>): Promise<void> {
    for (;;) {
      // A cut connection ends a watch like anything else: the next connection shows whether the API server is down.
      const next = await lines.next().catch(() => undefined);
      if (next === undefined || next.done === true) return;
      if (next.value !== '') await this.#line(next.value);
    }
  }

  async #line(text: string): Promise<void> {
    const line = watchLine.safeParse(parseJson(text)).data;
    // The line may have been a change, so a new list is needed.
    if (line === undefined)
      throw new StudioError('gone', `The watch of ${KINDS[this.#kind].plural} sent a line that is not a watch event.`);
    if (line.type === 'ERROR') {
      const { code, message } = errorObject.parse(line.object);
      throw new StudioError(
        code === 410 ? 'gone' : 'unavailable',
        `The watch of ${KINDS[this.#kind].plural} ended: ${message ?? 'no reason given'}`,
      );
    }
    const { resourceVersion } = versioned.parse(line.object).metadata;
    if (line.type !== 'BOOKMARK') {
      const object = readObject(this.#kind, line.object);
      if (line.type === 'DELETED') this.#objects.delete(keyOf(object));
      else this.#objects.set(keyOf(object), object);
      await this.#options.onEvent(line.type, object);
    }
    this.#version = resourceVersion;
  }
}

function keyOf(object: {
  readonly metadata: {
    readonly uid?: string | undefined;
    readonly namespace?: string | undefined;
    readonly name: string;
  };
}): string {
  return object.metadata.uid ?? `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
