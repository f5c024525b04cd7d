/**
 * The one exit of a worker: every frame, blob, and log line passes it, and no secret does. Only this file creates
 * `OutletText`, which is all that a session sends.
 */
import { type Redactor, redactor } from '../common/redaction/redactor.ts';
import { RedactedStream } from '../common/redaction/stream.ts';
import { hiddenValues } from '../config/env.ts';
import type { Submission } from '../config/submission.ts';
import type { WorkerFrame } from '../protocol/worker.ts';
import type { PendingBlob } from '../rollout/ports.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { cleanAppend } from './spool/redaction.ts';

/** A text without secrets. */
export type OutletText = string & { readonly outlet: unique symbol };

/** A frame that a session serializes itself. */
export type PlainFrame = Exclude<WorkerFrame, { type: 'append' }>;
type Append = Extract<WorkerFrame, { type: 'append' }>;

/**
 * Members of frames by which the server finds what they are about. It gave the names itself, and it shows an endpoint,
 * whose URL it knows, too, without keys.
 */
const NAMES: ReadonlySet<string> = new Set([
  'worker',
  'rollout',
  'rollouts',
  'command',
  'claim',
  'breakpoint',
  'endpoint',
  'resume',
]);

export class Outlet {
  readonly #secrets: Readonly<Record<string, string>>;
  /** Names whose values need not be hidden, as all submissions so far agree. */
  #shown: readonly string[] | undefined;
  #redactor: Redactor;

  /** `secrets`: the values of `${env:…}`. All are hidden until a submission shows which ones are not secret. */
  constructor(secrets: Readonly<Record<string, string>>) {
    this.#secrets = secrets;
    this.#redactor = redactor(hiddenValues([], secrets));
  }

  get redactor(): Redactor {
    return this.#redactor;
  }

  /** Learns from a submission which values are not secret. */
  learn({ shown }: Submission['env']): void {
    const before = this.#shown;
    this.#shown = before === undefined ? shown : before.filter((name) => shown.includes(name));
    if (before === undefined || before.length !== this.#shown.length)
      this.#redactor = redactor(hiddenValues(this.#shown, this.#secrets));
  }

  /** Returns a frame as it is sent. */
  frame(frame: PlainFrame): OutletText {
    const clean = this.#redactor.json(frame);
    if (clean === frame) return JSON.stringify(frame) as OutletText;
    const kept = Object.entries(frame).filter(([key]) => NAMES.has(key));
    return JSON.stringify({ ...clean, ...Object.fromEntries(kept) }) as OutletText;
  }

  /** Returns the events of one append, each as JSON, and their blobs. */
  append(
    events: readonly TraceEvent[],
    blobs: readonly PendingBlob[],
  ): { readonly texts: OutletText[]; readonly blobs: readonly PendingBlob[] } {
    const clean = cleanAppend(this.#redactor, events, blobs);
    return { texts: clean.events.map((event) => JSON.stringify(event) as OutletText), blobs: clean.blobs };
  }

  /** Returns a frame with events that `append` returned. */
  appendFrame({ rollout, epoch, from }: Omit<Append, 'type' | 'events'>, texts: readonly OutletText[]): OutletText {
    return (`{"type":"append","rollout":${JSON.stringify(rollout)},"epoch":${epoch},"from":${from},` +
      `"events":[${texts.join(',')}]}`) as OutletText;
  }

  /** Returns a line for the log. */
  line(text: string): OutletText {
    return this.#redactor.text(text) as OutletText;
  }

  /** Returns what redacts a text that leaves in pieces. */
  stream(): RedactedStream {
    return new RedactedStream(this.#redactor);
  }
}
