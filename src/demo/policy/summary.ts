/**
 * The summary of a conversation that will be compacted: asked to sum up, the demo model lists its calls and their
 * results, one per line, in a form that `readConversation` understands. So the clerk can continue.
 */
import type { Turn } from '../text/completion.ts';
import type { PastCall } from './pastCall.ts';

const LINE = /^I called (\S+) (\{.*\}) and got: (.*)$/;

export function isSummaryRequest({ requests }: { readonly requests: readonly string[] }): boolean {
  return /^Sum up the conversation\b/.test(requests.at(-1) ?? '');
}

export function summary({ calls }: { readonly calls: readonly PastCall[] }): Turn {
  const lines = calls.flatMap(({ name, args, result }) => {
    if (args === null || result === undefined) return [];
    const text = result.ok ? JSON.stringify(result.value) : result.text.replace(/\s+/g, ' ');
    return [`I called ${name} ${JSON.stringify(args)} and got: ${text}`];
  });
  return { reasoning: '', content: lines.length === 0 ? 'Nothing was done yet.' : lines.join('\n'), calls: [] };
}

/** Reads the calls of a summary, as name, arguments, and result, and the remaining text. */
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
