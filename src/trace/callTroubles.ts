/**
 * What the record says about calls that explain why a task is not complete. It is read from events alone, so a rollout,
 * its continuation, a fork, and a batch that rescores it say the same.
 */
import type { ErrorClass, EventOf, TraceError, TraceEvent, UnknownEvent } from './schema.ts';

export interface TroubledCall {
  /** seq of its start. */
  readonly span: number;
  readonly tool: string;
  readonly error: TraceError;
}

export interface CallTroubles {
  /** The last call, if it was refused for its form: an unknown tool, or arguments that cannot be read or are wrong. */
  readonly refused?: TroubledCall;
  /** The first call in which the world failed. */
  readonly fault?: TroubledCall;
}

/** Errors of calls whose form is wrong. */
const FORM: ReadonlySet<ErrorClass> = new Set(['unknown_tool', 'invalid_arguments', 'malformed_output']);

/** Returns whether a call that failed so was refused for its form, before it reached a tool. */
export function isFormError(error: ErrorClass): boolean {
  return FORM.has(error);
}

/** Reads the calls of a rollout, event by event. */
export class CallTroublesReader {
  /** Names of the tools of calls in progress, by seq of their start. */
  readonly #open = new Map<number, string>();
  #last = 0;
  #refused: TroubledCall | undefined;
  #fault: TroubledCall | undefined;

  add(event: TraceEvent): void {
    if (event.kind === 'tool.start') this.#open.set(event.seq, event.data.name);
    else if (event.kind === 'tool.end') this.#end(event);
  }

  get troubles(): CallTroubles {
    return {
      ...(this.#refused === undefined ? {} : { refused: this.#refused }),
      ...(this.#fault === undefined ? {} : { fault: this.#fault }),
    };
  }

  #end({ span = 0, data }: EventOf<'tool.end'>): void {
    const tool = this.#open.get(span);
    this.#open.delete(span);
    const { error } = data;
    // Lost with its worker, or open where a fork was cut: it is made again.
    if (tool === undefined || data.status === 'cut' || error?.class === 'infrastructure') return;
    // What a rule or a person answered is nobody's trouble.
    const isOwn = error !== undefined && data.injected === undefined && data.source !== 'edited';
    const troubled = isOwn ? { span, tool, error } : undefined;
    if (span > this.#last) {
      this.#last = span;
      this.#refused = troubled !== undefined && isFormError(troubled.error.class) ? troubled : undefined;
    }
    if (troubled?.error.blame === 'world' && span < (this.#fault?.span ?? Infinity)) this.#fault = troubled;
  }
}

/** Returns the troubles in events from the first on. */
export function callTroubles(events: Iterable<TraceEvent | UnknownEvent>): CallTroubles {
  const reader = new CallTroublesReader();
  for (const event of events) if (!('unknown' in event)) reader.add(event);
  return reader.troubles;
}
