/**
 * The simulated user: used if the system prompt says so ("You are a library member …", "simulated user", "You play …",
 * or the word that ends the conversation). The agent's messages have the role user here. By rule: asked for a name or
 * an address, it answers from its prompt; asked anything else, it agrees; a message without a question ends the
 * conversation.
 */
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';

/** The text with which a simulated user ends the conversation. */
const STOP = '###STOP###';

export function isUser(system: string): boolean {
  return (
    system.includes(STOP) ||
    /\bsimulated user\b|\byou (?:are|play) (?:a|an|the) (?:\w+ )?(?:user|member|patron|visitor|customer)\b/i.test(
      system,
    )
  );
}

export function simulatedUser({ system, requests }: Conversation): Turn {
  const message = requests.at(-1) ?? '';
  return { reasoning: '', content: replyTo(message, system), calls: [] };
}

function replyTo(message: string, system: string): string {
  if (!message.includes('?')) return system.includes(STOP) ? STOP : 'Thank you, that is all.';
  if (/\bname\b|\bwho\b/i.test(message)) {
    const name = /\b(?:called|named|name is)\s+(\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*)/u.exec(system)?.[1];
    if (name !== undefined) return `My name is ${name}.`;
  }
  if (/\baddress\b|\blive\b/i.test(message)) {
    const address = /\blives? (?:at|in) ([^.,;\n]+)/i.exec(system)?.[1];
    if (address !== undefined) return `I live at ${address}.`;
  }
  return 'Yes, please.';
}
