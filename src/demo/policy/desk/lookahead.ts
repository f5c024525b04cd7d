/**
 * The clerk looks ahead: with the tool `predict`, it asks what each action would do, before it takes it. It does not
 * take those that are predicted to fail. Lookups change nothing, so it just makes them.
 */
import type { Turn, TurnCall } from '../../text/completion.ts';
import type { Conversation } from '../conversation.ts';

const PREDICT = 'predict';

/** Returns `turn`, or the predictions that it needs first. `planned`: what follows if one of its calls would fail. */
export function lookingAhead(turn: Turn, planned: Turn, { calls }: Conversation): Turn {
  /** Whether a call succeeds, as far as predicted. */
  const predicted = new Map(
    calls.flatMap(({ name, args, result }) =>
      name === PREDICT && typeof args?.['tool'] === 'string' && result !== undefined
        ? [[keyOf(args['tool'], JSON.stringify(args['arguments'])), result.ok || isUnknown(result.text)]]
        : [],
    ),
  );
  const key = ({ name, arguments: args }: TurnCall): string => keyOf(name, args);
  const chosen = turn.calls.some((call) => predicted.get(key(call)) === false) ? planned : turn;
  const open = chosen.calls.filter((call) => !predicted.has(key(call)));
  if (open.length === 0) return chosen;
  return {
    reasoning: `${chosen.reasoning} Before I change anything, I look ahead.`,
    content: '',
    calls: open.map(({ name, arguments: args }) => ({
      name: PREDICT,
      arguments: `{"tool":${JSON.stringify(name)},"arguments":${args}}`,
    })),
  };
}

/** Returns whether nothing could be predicted, which does not mean that the call fails. */
function isUnknown(text: string): boolean {
  return text.includes('cannot be predicted') || text.includes('cannot predict');
}

function keyOf(tool: string, args: string): string {
  return `${tool} ${args}`;
}
