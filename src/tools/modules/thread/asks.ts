/** Questions of user code to models (in the thread). The worker sends them and has the keys. */
import type { Ask, AskMessage, AskOptions } from '../../sdk.ts';
import { ASK_CHARS } from '../limits.ts';
import type { AskedMessage, FromThread, ToThread } from '../protocol.ts';

type Question = Extract<FromThread, { type: 'ask' }>;
type Reply = Extract<ToThread, { type: 'answer' }>;

const ROLES = ['system', 'user', 'assistant'] as const;
const NUMBERS = ['temperature', 'top_p', 'max_tokens'] as const;

/** What user code catches. `code`: the class of the failed model call. */
class AskError extends Error {
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.name = 'AskError';
    this.code = code;
  }
}

export class Asks {
  readonly #send: (question: Question) => void;
  readonly #open = new Map<number, { readonly id: number; settle(reply: Reply): void }>();
  #next = 1;

  constructor(send: (question: Question) => void) {
    this.#send = send;
  }

  /** Returns the `ask` of the operation `id`. `isRunning`: whether it has not ended. */
  of(id: number, isRunning: () => boolean): Ask {
    return async (model, messages, options = {}) => {
      const question = { model: nameOf(model), messages: messagesOf(messages), options: optionsOf(options) };
      if (!isRunning()) throw new Error('context.ask was called after the call had ended.');
      const ask = this.#next++;
      const reply = new Promise<string>((resolve, reject) => {
        this.#open.set(ask, {
          id,
          settle: ({ text, error }) => {
            if (error === undefined) resolve(text ?? '');
            else reject(new AskError(error.message, error.class));
          },
        });
      });
      this.#send({ type: 'ask', id, ask, ...question });
      return reply;
    };
  }

  received(reply: Reply): void {
    this.#open.get(reply.ask)?.settle(reply);
    this.#open.delete(reply.ask);
  }

  /** Forgets the questions of an operation that has ended: nobody waits for their answers. */
  forget(id: number): void {
    for (const [ask, open] of this.#open) if (open.id === id) this.#open.delete(ask);
  }
}

function nameOf(model: unknown): string {
  if (typeof model === 'string' && model !== '') return model;
  throw new TypeError('context.ask needs the name of a model, as in `models` of the file.');
}

function messagesOf(messages: string | readonly AskMessage[]): AskedMessage[] {
  const list: readonly unknown[] = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages;
  if (!Array.isArray(list) || list.length === 0)
    throw new TypeError('context.ask needs a text, or a list of at least one message.');
  const asked = list.map((message) => {
    const { role, content } = (message ?? {}) as { readonly role?: unknown; readonly content?: unknown };
    const known = ROLES.find((candidate) => candidate === role);
    if (known === undefined || typeof content !== 'string')
      throw new TypeError(`A message for context.ask has a \`role\` (${ROLES.join(', ')}) and a text as \`content\`.`);
    return { role: known, content };
  });
  const chars = asked.reduce((sum, { content }) => sum + content.length, 0);
  if (chars > ASK_CHARS)
    throw new RangeError(`The messages for context.ask have ${chars} characters. The maximum is ${ASK_CHARS}.`);
  return asked;
}

function optionsOf(options: AskOptions): Question['options'] {
  const checked: Question['options'] = {};
  for (const key of NUMBERS) {
    const value: unknown = options[key];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new TypeError(`The option \`${key}\` of context.ask must be a number.`);
    checked[key] = value;
  }
  const stop: unknown = options.stop;
  if (stop === undefined) return checked;
  if (!Array.isArray(stop) || !stop.every((text) => typeof text === 'string'))
    throw new TypeError('The option `stop` of context.ask must be a list of texts.');
  return { ...checked, stop: [...stop] };
}
