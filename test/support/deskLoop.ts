/** The smallest agent loop: a request, its tool calls, and again until a reply without calls. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { JsonObject } from '../../src/common/json.ts';
import type { Verdict } from '../../src/tools/sdk.ts';
import { type OpenSample, SAMPLE } from './sampleWorkspace.ts';

export interface LoopMessage {
  role: string;
  content: string | null;
  reasoning?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}
export type CallModel = (request: {
  messages: LoopMessage[];
  tools: JsonObject[];
  seed: number;
}) => Promise<LoopMessage>;

const PROMPT = readFileSync(join(SAMPLE, 'prompts', 'desk.md'), 'utf8');

export function toolsOf(library: OpenSample): JsonObject[] {
  return Object.entries(library.tools).map(([name, { description, input }]) => ({
    type: 'function',
    function: { name, description, parameters: z.toJSONSchema(input) as JsonObject },
  }));
}

/** Runs one attempt. The seed of a call is `seed` plus its number, so attempts and calls differ. */
export async function attempt(
  library: OpenSample,
  callModel: CallModel,
  seed: number,
): Promise<{ verdict: Verdict; messages: LoopMessage[] }> {
  const messages: LoopMessage[] = [
    { role: 'system', content: PROMPT },
    { role: 'user', content: library.task.question },
  ];
  const tools = toolsOf(library);
  for (let step = 0; step < 20; step++) {
    const reply = await callModel({ messages: [...messages], tools, seed: seed + step });
    messages.push(reply);
    if (reply.tool_calls === undefined) return { verdict: library.verify(reply.content), messages };
    for (const call of reply.tool_calls) {
      const result = await called(library, call.function.name, call.function.arguments);
      messages.push({
        role: 'tool',
        tool_call_id: call.id,
        content: JSON.stringify('ok' in result ? result.ok : { error: { class: 'tool_error', message: result.error } }),
      });
    }
  }
  return { verdict: library.verify(null), messages };
}

function called(library: OpenSample, name: string, text: string): ReturnType<OpenSample['call']> {
  try {
    return library.call(name, JSON.parse(text));
  } catch (error) {
    return Promise.resolve({ error: `The arguments are no JSON: ${(error as Error).message}` });
  }
}
