/** What the data of both pages have in common: where it comes from, how it tells of changes, how it ends and fails. */

import type { Listen } from '../../src/common/emitter.ts';
import { errorText } from '../../src/common/errors.ts';
import { Api } from '../../src/protocol/api.ts';
import type { Host } from '../host/host.ts';
import { Blobs } from './blobs.ts';
import { NoteBook } from './notes.ts';
import { Pace } from './pace.ts';

/** `loading`: catching up with what is stored; `head`: all that is there is here; `failed`: see `problem`. */
type LoadingState = 'loading' | 'head' | 'failed';

/**
 * What comes later than this is further down than anyone sees at first: it is counted now and then, so that drawing
 * does not keep it from coming.
 */
const AT_ONCE_MS = 1_000;
const CATCHING_UP_MS = 500;

export abstract class StreamData {
  readonly host: Host;
  readonly api: Api;
  readonly blobs: Blobs;
  readonly notes: NoteBook;
  loading: LoadingState = 'loading';
  problem: string | undefined;
  /** The connection is lost; what is shown is as old as the newest of it. */
  lost = false;
  readonly #pace = new Pace();
  readonly #began = performance.now();
  readonly #closed = new AbortController();

  constructor(host: Host) {
    this.host = host;
    this.api = new Api(host.transport);
    this.blobs = new Blobs(this.api);
    this.notes = new NoteBook(() => this.touch());
  }

  /** After changes, at most about a dozen times a second. */
  get changed(): Listen<undefined> {
    return this.#pace.changed;
  }

  close(): void {
    this.#closed.abort();
    this.#pace.stop();
  }

  /** Aborts when the page is left. */
  protected get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** `soon`: somebody waits for it. */
  protected touch(soon = false): void {
    const catchingUp = !soon && this.loading === 'loading' && performance.now() - this.#began > AT_ONCE_MS;
    this.#pace.touch(catchingUp ? CATCHING_UP_MS : undefined);
  }

  /** What a subscription tells of itself. */
  protected head(): void {
    this.loading = 'head';
    this.touch();
  }

  protected lose(lost: boolean): void {
    this.lost = lost;
    this.touch();
  }

  /** Waits for all that is loaded; what fails of it is the page's problem, unless the page was left. */
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
