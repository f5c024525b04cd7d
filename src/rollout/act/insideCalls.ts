import { ClassedError } from '../../trace/classedError.ts';
import type { Edits } from '../gates/edits.ts';
import type { Log } from '../log/log.ts';
import { ContextHash, type Sha256, textOf } from '../log/messages.ts';
import type { Ask, SideQuestion } from '../ports.ts';
import type { History } from './history.ts';
import { isCutShort, type RecordedAction } from './recorded.ts';

/** A side model's call inside a tool call, with its answer. */
type Answered = Pick<RecordedAction<'model'>, 'key' | 'start' | 'end' | 'within' | 'seq'>;

interface InsideCallsParts {
  readonly history: History;
  readonly log: Log;
  readonly edits: Edits;
  readonly sha256: Sha256;
  /** The first seq that does not belong to an ancestor. */
  readonly ownFrom: number;
}

/**
 * What side models answered inside tool calls. A tool call that is repeated to restore its world gets the same answers,
 * and no request is sent.
 */
export class InsideCalls {
  readonly #parts: InsideCallsParts;
  /** By seq of the tool call. */
  readonly #calls = new Map<number, Answered[]>();

  constructor(parts: InsideCallsParts) {
    this.#parts = parts;
    for (const action of parts.history.actions) if (isModel(action)) this.add(action);
  }

  /** Adds a call that has ended. */
  add(call: Answered): void {
    if (call.within === undefined || call.end === undefined) return;
    const calls = this.#calls.get(call.within);
    if (calls === undefined) this.#calls.set(call.within, [call]);
    else if (!calls.some(({ seq }) => seq === call.seq)) calls.push(call);
  }

  /**
   * Returns what answers the questions of the tool call with this seq when it is repeated, each once. A question that
   * was not asked gets, in a fork, the next answer of the model; otherwise it throws ClassedError `world_error`.
   */
  again(span: number): Ask {
    const left = [...(this.#calls.get(span) ?? [])];
    return (question) => this.#answer(left, span, question);
  }

  async #answer(left: Answered[], span: number, { side, messages }: SideQuestion): Promise<string> {
    const { log, edits, sha256, ownFrom } = this.#parts;
    const found = messages.map(({ role, text }) => log.find({ role, parts: [{ type: 'text', content: text }] }));
    const known = found.filter((message) => message !== undefined);
    const key = known.length === found.length ? new ContextHash(sha256).of(known) : undefined;
    const ofSide = left.filter(({ start }) => start.side === side);
    const call = ofSide.find((one) => one.key === key) ?? (span < ownFrom ? ofSide[0] : undefined);
    if (call?.end === undefined)
      throw new ClassedError(
        'world_error',
        `It asked the model ${side} something else than when it was recorded. The tool depends on time, randomness, ` +
          'or its environment, or its code has changed.',
      );
    left.splice(left.indexOf(call), 1);
    // It was never answered, and the tool call ended nevertheless.
    if (isCutShort(call)) return new Promise<never>(() => undefined);
    const { message, data } = call.end;
    if (message !== undefined) return Promise.resolve(textOf(edits.resolve(message).parts));
    throw new ClassedError(data.error?.class ?? 'model_error', data.error?.message ?? 'The model returned no message.');
  }
}

function isModel(action: RecordedAction): action is RecordedAction<'model'> {
  return action.kind === 'model';
}
