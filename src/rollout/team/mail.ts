import type { Json } from '../../common/json.ts';
import type { History } from '../act/history.ts';
import { type Draft, type Log, messageDraft } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';

/** A message from one agent to another. */
export interface Mail {
  /** Instance path. */
  readonly from: string;
  readonly topic: 'task' | 'output' | 'handoff' | 'again';
  readonly text: string;
  /** Work has a higher priority than the report of a failure. */
  readonly priority?: number;
  /** For a leader's call: its ID. */
  readonly call?: string;
}

/** The messages that start an agent, in order, and the events of those that are not recorded yet. */
interface Delivery {
  readonly messages: readonly LoggedMessage[];
  readonly drafts: readonly Draft[];
}

/**
 * Delivers the first messages of an instance. Each instance gets messages only once, so a resumed run records the same
 * ones in the same order.
 */
export function deliver(mail: readonly Mail[], to: string, log: Log, history: History): Delivery {
  const recorded = [...history.mail(to)];
  const drafts: Draft[] = [];
  const messages = mail.map(({ from, topic, text, priority = 0, call }) => {
    const existing = recorded.shift();
    if (existing !== undefined && isText(existing, text)) return existing;
    const message = log.addMessage({ role: 'user', parts: [{ type: 'text', content: text }], origin: 'given' });
    drafts.push(
      messageDraft(message, { from, to, topic, priority, ...(call === undefined ? {} : { headers: { call } }) }, to),
    );
    return message;
  });
  return { messages, drafts };
}

function isText({ parts }: LoggedMessage, text: string): boolean {
  const [part] = parts;
  return parts.length === 1 && part?.type === 'text' && part.content === text;
}

/** Returns an answer as the text that another agent reads. */
export function answerText(answer: Json): string {
  if (answer === null) return '(no answer)';
  return typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2);
}
