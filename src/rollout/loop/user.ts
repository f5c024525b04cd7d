import { ClassedError } from '../../trace/classedError.ts';
import type { Part } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { Outcome } from '../act/act.ts';
import type { Log } from '../log/log.ts';
import { type LoggedMessage, textOf } from '../log/messages.ts';
import type { Message, ModelReply } from '../ports.ts';
import type { Context } from './context.ts';
import type { ModelCaller } from './modelCall.ts';
import { renderPrompt } from './prompt.ts';

/** The text with which a simulated user ends the conversation. */
const USER_STOP = '###STOP###';

/**
 * A model that plays the person the agent works for. Its calls are recorded as model calls of an agent of their own.
 */
export class SimulatedUser {
  readonly #path: string;
  readonly #log: Log;
  readonly #context: Context;
  readonly #model: ModelCaller;
  readonly #opening: string;
  #started = false;

  /** `prompt`: with `{{task.*}}` placeholders. Throws ClassedError when the task has not what it names. */
  constructor(path: string, prompt: string, task: TaskRecord, log: Log, context: Context, model: ModelCaller) {
    this.#path = path;
    this.#log = log;
    this.#context = context;
    this.#model = model;
    const rendered = renderPrompt(prompt, task);
    const rule = rendered.includes(USER_STOP)
      ? ''
      : `\n\nWhen there is nothing left that you want, answer with ${USER_STOP} alone.`;
    // Chat templates may insist that the other side speaks first, so what the user said at the start is told here.
    this.#opening = `${rendered}${rule}\n\nYou began the conversation by saying: ${task.question}`;
  }

  /** What the user says to the agent's message; undefined when the conversation is over. Throws ClassedError. */
  async answer(reply: LoggedMessage): Promise<LoggedMessage | undefined> {
    if (!this.#started) {
      this.#context.push(
        this.#log.intern(
          { role: 'system', parts: [{ type: 'text', content: this.#opening }], origin: 'given', to: this.#path },
          this.#path,
        ),
      );
      this.#started = true;
    }
    this.#context.push(reply);
    const { end, message } = await this.#model.call(this.#context);
    if (message === undefined) throw failure(end.error);
    this.#context.push(message);
    this.#context.seen();
    return textOf(message.parts).includes(USER_STOP) ? undefined : message;
  }
}

/** The agent is not to blame for its user, so only what is nobody's fault keeps its class. */
function failure(error: { readonly class: ClassedError['class']; readonly message: string } | undefined): ClassedError {
  const message = error?.message ?? 'no response';
  if (error?.class === 'infrastructure' || error?.class === 'limit' || error?.class === 'cancelled')
    return new ClassedError(error.class, message);
  return new ClassedError('world_error', `The simulated user failed: ${message}`);
}

/**
 * The conversation from the user's side: what the agent said comes from the other one, and its thoughts are its own.
 */
export function fromUsersSide(messages: readonly LoggedMessage[]): Message[] {
  return messages.map(({ m, role, parts }) => ({
    m,
    role: role === 'assistant' ? 'user' : role === 'user' ? 'assistant' : role,
    parts: parts.filter((part) => part.type !== 'reasoning'),
  }));
}

/** The user's reply as the agent gets it: only what it says. */
export function usersWords(
  path: string,
  agent: string,
): (reply: ModelReply) => NonNullable<Outcome<'model'>['message']> {
  return (reply) => ({
    role: 'user',
    parts: reply.parts.filter((part: Part) => part.type === 'text'),
    origin: 'given',
    from: path,
    to: agent,
  });
}
