// What the SDK's types allow: checked by the type checker, which reads this file too.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { reply, type ToolContext, type ToolDefinition, tool } from '../../../src/tools/sdk.ts';

const input = z.object({ a: z.number(), b: z.number().default(2) });
const output = z.object({ sum: z.number(), unit: z.string().default('m') });

it('arguments, results, and the state of a world are typed', () => {
  const typed = tool({
    description: 'Adds.',
    input,
    output,
    effect: 'pure',
    retry: { times: 2 },
    run: ({ a, b }) => ({ sum: a + b }),
  });
  const later = tool({ description: 'Adds.', input, output, run: ({ a }) => Promise.resolve(reply({ sum: a }, [])) });
  const stateful = tool({
    description: 'Reads.',
    input,
    run: (_args, { state }: ToolContext<{ open: boolean }>) => state.open,
  });
  // @ts-expect-error: the sum is a number
  const wrong = tool({ description: 'Adds.', input, output, run: () => ({ sum: 'three' }) });
  // @ts-expect-error: also inside of a reply
  const wrongReply = tool({ description: 'Adds.', input, output, run: () => reply({ sum: 'three' }, []) });
  const all: Readonly<Record<string, ToolDefinition>> = { typed, later, stateful, wrong, wrongReply };
  assert.equal(Object.keys(all).length, 5);
});
