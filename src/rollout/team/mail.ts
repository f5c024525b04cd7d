import type { Json } from '../../common/json.ts';
import type { History } from '../act/history.ts';
import { type Draft, type Log, messageDraft } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';

/** What one agent writes to another. */
export interface Mail {
  /** Instance path. */
  readonly from: string;
  readonly topic: 'task' | 'output' | 'handoff' | 'again';
  readonly text: string;
  /** Work goes before word of a failure. */
  readonly priority?: number;
  /** Of a leader's call: its id. */
  readonly call?: string;
}

/** What an agent is begun with by others: the messages in order, and the events of those that are not recorded yet. */
interface Delivery {
  readonly messages: readonly LoggedMessage[];
  readonly drafts: readonly Draft[];
}

/** Each instance is written to once, when it begins; so what is recorded for it is the same, in the same order. */
export function deliver(mail: readonly Mail[], to: string, log: Log, history: History): Delivery {
  const recorded = [...history.mail(to)];
  const drafts: Draft[] = [];
  const messages = mail.map(({ from, topic, text, priority = 0, call }) => {
    const known = recorded.shift();
    if (known !== undefined && isText(known, text)) return known;
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

/** An answer as another agent reads it. */
export function answerText(answer: Json): string {
  if (answer === null) return '(no answer)';
  return typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2);
}
