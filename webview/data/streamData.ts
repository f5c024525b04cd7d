/** Base of the live data of pages: access to the server, change notifications, loading state, and failures. */
import type { Listen } from '../../src/common/emitter.ts';
import { errorText } from '../../src/common/errors.ts';
import type { You } from '../../src/protocol/access.ts';
import { Api } from '../../src/protocol/api.ts';
import type { Host } from '../host/host.ts';
import { Blobs } from './blobs.ts';
import { NoteBook } from './notes.ts';
import { Pace } from './pace.ts';

/** `loading`: reading stored events; `head`: all stored events were read; `failed`: see `problem`. */
type LoadingState = 'loading' | 'head' | 'failed';

/**
 * Events that arrive later than this while loading are usually not visible, so the page renders less often and loading
 * is faster.
 */
const FAST_RENDER_MS = 1_000;
const LOADING_INTERVAL_MS = 500;

export abstract class StreamData {
  readonly host: Host;
  readonly api: Api;
  readonly blobs: Blobs;
  readonly notes: NoteBook;
  loading: LoadingState = 'loading';
  problem: string | undefined;
  /** What the user may do now; undefined while that is unknown. */
  you: You | undefined;
  /** Whether the connection is lost, so data may be out of date. */
  lost = false;
  readonly #pace = new Pace();
  readonly #start = performance.now();
  readonly #closed = new AbortController();

  constructor(host: Host) {
    this.host = host;
    this.api = new Api(host.transport);
    this.blobs = new Blobs(this.api);
    this.notes = new NoteBook(() => this.touch());
  }

  /** Fires after changes, at a limited rate (see pace.ts). */
  get changed(): Listen<undefined> {
    return this.#pace.changed;
  }

  close(): void {
    this.#closed.abort();
    this.#pace.stop();
  }

  /** Aborts when the page is closed. */
  protected get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** Notifies of a change. `soon`: even while loading, because the user waits for it. */
  protected touch(soon = false): void {
    const isLoading = !soon && this.loading === 'loading' && performance.now() - this.#start > FAST_RENDER_MS;
    this.#pace.touch(isLoading ? LOADING_INTERVAL_MS : undefined);
  }

  /** Notifies of a change without waiting for the pace, because it completes what the user waits for. */
  protected touchNow(): void {
    this.#pace.touch(0);
  }

  /** Records that the subscription has read all stored events. */
  protected head(): void {
    this.loading = 'head';
    this.touch();
  }

  /** Takes what the server says about the user. */
  protected setYou(you: You): void {
    this.you = you;
    this.touch();
  }

  protected setLost(lost: boolean): void {
    this.lost = lost;
    this.touch();
  }

  /** Waits for all work. The first failure becomes `problem`, unless the page was closed. */
  protected async load(...work: readonly Promise<unknown>[]): Promise<void> {
    try {
      await Promise.all(work);
    } catch (error) {
      if (this.signal.aborted) return;
      this.loading = 'failed';
      this.problem = errorText(error);
      this.touch();
    }
  }
}
