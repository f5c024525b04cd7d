/**
 * The simulated user: a system prompt that says so ("You are a library member …", "simulated user", "You play …", or
 * the word that ends the conversation). Here the agent's words come as messages of role user. By rule: asked for a name
 * or an address, it gives what its prompt has; asked anything else, it agrees; told something, it has nothing left to
 * want.
 */
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';

/** What a rollout tells its simulated user to write at the end. */
const STOP = '###STOP###';

export function isUser(system: string): boolean {
  return (
    system.includes(STOP) ||
    /\bsimulated user\b|\byou (?:are|play) (?:a|an|the) (?:\w+ )?(?:user|member|patron|visitor|customer)\b/i.test(
      system,
    )
  );
}

export function simulatedUser({ system, asked }: Conversation): Turn {
  const heard = asked.at(-1) ?? '';
  return { reasoning: '', content: answerTo(heard, system), calls: [] };
}

function answerTo(heard: string, system: string): string {
  if (!heard.includes('?')) return system.includes(STOP) ? STOP : 'Thank you, that is all.';
  if (/\bname\b|\bwho\b/i.test(heard)) {
    const name = /\b(?:called|named|name is)\s+(\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*)/u.exec(system)?.[1];
    if (name !== undefined) return `My name is ${name}.`;
  }
  if (/\baddress\b|\blive\b/i.test(heard)) {
    const address = /\blives? (?:at|in) ([^.,;\n]+)/i.exec(system)?.[1];
    if (address !== undefined) return `I live at ${address}.`;
  }
  return 'Yes, please.';
}
