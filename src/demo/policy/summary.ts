/**
 * The summary of a conversation that is about to be cut: asked to sum up, the demo model writes down its calls and what
 * they gave, one a line, in a form that `readConversation` understands. So the clerk goes on where it was.
 */
import type { Turn } from '../text/completion.ts';
import type { PastCall } from './pastCall.ts';

const LINE = /^I called (\S+) (\{.*\}) and got: (.*)$/;

export function isSummaryRequest({ asked }: { readonly asked: readonly string[] }): boolean {
  return /^Sum up the conversation\b/.test(asked.at(-1) ?? '');
}

export function summary({ calls }: { readonly calls: readonly PastCall[] }): Turn {
  const lines = calls.flatMap(({ name, args, result }) => {
    if (args === null || result === undefined) return [];
    const text = result.ok ? JSON.stringify(result.value) : result.text.replace(/\s+/g, ' ');
    return [`I called ${name} ${JSON.stringify(args)} and got: ${text}`];
  });
  return { reasoning: '', content: lines.length === 0 ? 'Nothing was done yet.' : lines.join('\n'), calls: [] };
}

/** The calls a summary tells of, as name, arguments and result; and what else the text says. */
export function readSummary(text: string): { calls: { name: string; args: string; result: string }[]; rest: string } {
  const calls: { name: string; args: string; result: string }[] = [];
  const rest = text.split('\n').filter((line) => {
    const [, name, args, result] = LINE.exec(line) ?? [];
    if (name === undefined || args === undefined || result === undefined) return true;
    calls.push({ name, args, result });
    return false;
  });
  return { calls, rest: rest.join('\n') };
}
