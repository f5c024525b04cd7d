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

/** A side model that plays the person whom the agent works for. Its calls are one conversation. */
export class SimulatedUser {
  readonly #path: string;
  readonly #log: Log;
  readonly #context: Context;
  readonly #model: ModelCaller;
  readonly #opening: string;
  #started = false;

  /** `prompt` may contain `{{task.*}}` placeholders. Throws ClassedError if the task lacks a value for one. */
  constructor(path: string, prompt: string, task: TaskRecord, log: Log, context: Context, model: ModelCaller) {
    this.#path = path;
    this.#log = log;
    this.#context = context;
    this.#model = model;
    const rendered = renderPrompt(prompt, task);
    const rule = rendered.includes(USER_STOP)
      ? ''
      : `\n\nWhen there is nothing else you want, reply with only ${USER_STOP}.`;
    // Chat templates may require that the user speaks first, so the user's opening message is part of the prompt.
    this.#opening = `${rendered}${rule}\n\nYou began the conversation by saying: ${task.question}`;
  }

  /** Returns the user's reply to a message of the agent; undefined ends the conversation. Throws ClassedError. */
  async answer(reply: LoggedMessage): Promise<LoggedMessage | undefined> {
    if (!this.#started) {
      this.#context.push(
        this.#log.intern(
          {
            role: 'system',
            parts: [{ type: 'text', content: this.#opening }],
            origin: 'given',
            to: this.#path,
            side: 'user',
          },
          this.#path,
        ),
      );
      this.#started = true;
    }
    this.#context.push(reply);
    const { end, message } = await this.#model.call(this.#context);
    if (message === undefined) throw failure(end.error);
    this.#context.push(message);
    this.#context.markSeen();
    return textOf(message.parts).includes(USER_STOP) ? undefined : message;
  }
}

/** The agent is not to blame for its simulated user, so only errors that are nobody's fault keep their class. */
function failure(error: { readonly class: ClassedError['class']; readonly message: string } | undefined): ClassedError {
  const message = error?.message ?? 'no response';
  if (error?.class === 'infrastructure' || error?.class === 'limit' || error?.class === 'cancelled')
    return new ClassedError(error.class, message);
  return new ClassedError('world_error', `The simulated user failed: ${message}`);
}

/** Converts the conversation to the user's side: the agent's messages come from role user, without its reasoning. */
export function fromUsersSide(messages: readonly LoggedMessage[]): Message[] {
  return messages.map(({ m, role, parts }) => ({
    m,
    role: role === 'assistant' ? 'user' : role === 'user' ? 'assistant' : role,
    parts: parts.filter((part) => part.type !== 'reasoning'),
  }));
}

/** Returns the user's reply as the agent sees it: only the text. */
export function userReply(
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
