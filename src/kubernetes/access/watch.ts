/**
 * What there is of a kind, for as long as one wants to know: a list, and every change after it. Survives what happens
 * to
 * watches: streams that end (the API server ends each after a while) or go silent, `410 Gone` (the history is not kept
 * that long), lines that cannot be read, API servers that are away. After a new list, what vanished meanwhile is told.
 */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { readLines, readText } from './answerText.ts';
import type { Cluster, ListOptions } from './cluster.ts';
import { groupOf, KINDS, type Kind, pathOf } from './kinds.ts';
import { answerError } from './kubeErrors.ts';
import { type ObjectOf, readObject } from './objects.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface WatchOptions<K extends Kind> {
  /** Ends the watch: it resolves. */
  readonly signal: AbortSignal;
  /** All that is there: first of all, and again whenever the list had to be read anew. */
  readonly onList: (items: readonly ObjectOf<K>[]) => void | Promise<void>;
  readonly onEvent: (type: WatchEventType, object: ObjectOf<K>) => void | Promise<void>;
  /** What a new list no longer has: it vanished while nobody watched. Its last known state; called before `onList`. */
  readonly onGone?: (object: ObjectOf<K>) => void | Promise<void>;
  /** The API server cannot be reached (told once), and can again (undefined). */
  readonly onTrouble?: (error: StudioError | undefined) => void;
  /** How long one watch runs before the next goes on where it ended. */
  readonly watchSeconds?: number;
  /** How long a watch may be silent after that. */
  readonly silentMs?: number;
}

const WATCH_SECONDS = 60;
/** A watch that is silent for longer than it may run is dead: a machine slept, or a network changed. */
const SILENT_MS = 15_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** A watch that ran for this long was in order. */
const STEADY_MS = 5_000;

/** A line of a watch. */
const watchLine = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({}),
});
const versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const errorObject = z.looseObject({ code: z.number().optional(), message: z.string().optional() });

/**
 * Lists and watches until `signal` aborts. Rejects where no new try can fix it: the credentials are not accepted, the
 * account may not, or one of the handlers threw.
 */
export async function watchList<K extends Kind>(
  cluster: Cluster,
  kind: K,
  selector: Omit<ListOptions, 'signal'>,
  options: WatchOptions<K>,
): Promise<void> {
  const watched = new Watch(cluster, kind, selector, options);
  const { signal } = options;
  let wait = FIRST_RETRY_MS;
  let trouble = false;
  const going = (): void => {
    if (trouble) options.onTrouble?.(undefined);
    trouble = false;
  };
  while (!isAborted(signal)) {
    const began = performance.now();
    let atOnce = false;
    try {
      await watched.once(going);
    } catch (error) {
      if (isAborted(signal)) return;
      if (!StudioError.is(error) || !MENDED_BY_TIME.has(error.code)) throw error;
      if (error.code === 'gone') {
        watched.forget();
        atOnce = true;
      } else {
        if (!trouble) options.onTrouble?.(error);
        trouble = true;
      }
    }
    // One that ran for a while is gone on with at once; what ends again and again right after it began is not.
    const steady = performance.now() - began >= STEADY_MS;
    if (steady) wait = FIRST_RETRY_MS;
    if (!trouble && (steady || (atOnce && wait === FIRST_RETRY_MS))) {
      wait = steady ? wait : wait * 2;
      continue;
    }
    await sleep(wait * (0.5 + Math.random()), signal).catch(() => undefined);
    wait = Math.min(wait * 2, MAX_RETRY_MS);
  }
}

const MENDED_BY_TIME: ReadonlySet<string> = new Set(['unavailable', 'gone']);

/** A function, so that a check before it is not taken to hold after an await. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

class Watch<K extends Kind> {
  readonly #cluster: Cluster;
  readonly #kind: K;
  readonly #selector: Omit<ListOptions, 'signal'>;
  readonly #options: WatchOptions<K>;
  /** What was there when we last heard, by its uid. */
  readonly #known = new Map<string, ObjectOf<K>>();
  /** Where the next watch goes on; undefined: a new list first. */
  #version: string | undefined;

  constructor(cluster: Cluster, kind: K, selector: Omit<ListOptions, 'signal'>, options: WatchOptions<K>) {
    this.#cluster = cluster;
    this.#kind = kind;
    this.#selector = selector;
    this.#options = options;
  }

  /** The next watch begins with a list. */
  forget(): void {
    this.#version = undefined;
  }

  /** A list where it needs one, then one watch until it ends. */
  async once(going: () => void): Promise<void> {
    if (this.#version === undefined) {
      await this.#list();
      going();
    }
    await this.#watch(going);
  }

  async #list(): Promise<void> {
    const { items, resourceVersion } = await this.#cluster.listAt(this.#kind, {
      ...this.#selector,
      signal: this.#options.signal,
    });
    const there = new Set(items.map(keyOf));
    const gone = [...this.#known].filter(([key]) => !there.has(key));
    for (const [key, object] of gone) {
      this.#known.delete(key);
      await this.#options.onGone?.(object);
    }
    for (const item of items) this.#known.set(keyOf(item), item);
    await this.#options.onList(items);
    this.#version = resourceVersion;
  }

  async #watch(going: () => void): Promise<void> {
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
      const answer = await this.#cluster.connection.stream('GET', pathOf(this.#kind, namespace), {
        signal,
        query: {
          watch: 'true',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(Math.ceil(seconds)),
          resourceVersion: this.#version,
          labelSelector: this.#selector.labels,
          fieldSelector: this.#selector.fields,
        },
      });
      body = answer.body;
      if (answer.status !== 200) {
        let text = '';
        for await (const piece of readText(answer.body)) text += piece;
        throw answerError(
          { status: answer.status, text, skewMs: answer.skewMs },
          { verb: 'watch', resource: plural, group: groupOf(this.#kind), namespace },
          this.#cluster.context,
        );
      }
      going();
      await this.#lines(readLines(answer.body));
    } catch (error) {
      // Silence is the end of a watch like any other: the next goes on where it was.
      if (!silent.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      body?.destroy();
    }
  }

  async #lines(lines: AsyncGenerator<string, void, undefined>): Promise<void> {
    for (;;) {
      // A connection that is cut is an end like any other: whether there is trouble shows when the next is made.
      const next = await lines.next().catch(() => undefined);
      if (next === undefined || next.done === true) return;
      if (next.value !== '') await this.#line(next.value);
    }
  }

  async #line(text: string): Promise<void> {
    const line = watchLine.safeParse(parsed(text)).data;
    // What cannot be read may have been a change: only a new list tells.
    if (line === undefined)
      throw new StudioError('gone', `A line of the watch of ${KINDS[this.#kind].plural} cannot be read.`);
    if (line.type === 'ERROR') {
      const { code, message } = errorObject.parse(line.object);
      throw new StudioError(
        code === 410 ? 'gone' : 'unavailable',
        `The watch of ${KINDS[this.#kind].plural} ended: ${message ?? 'without a word'}`,
      );
    }
    const { resourceVersion } = versioned.parse(line.object).metadata;
    if (line.type !== 'BOOKMARK') {
      const object = readObject(this.#kind, KINDS[this.#kind].apiVersion, line.object);
      if (line.type === 'DELETED') this.#known.delete(keyOf(object));
      else this.#known.set(keyOf(object), object);
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
