/**
 * A chat endpoint with token IDs and log probabilities. Its tokenizer is simple: the ID of each byte is its value, and
 * END ends a message. What it answers depends on the seed of the first call of an attempt.
 */
import type { ServerResponse } from 'node:http';
import { seedOf } from '../../../src/common/hash.ts';
import type { JsonObject } from '../../../src/common/json.ts';
import { answerStream, chatEndpoint, chunk, type FakeEndpoint, refuse, usageChunk } from '../../support/endpoint.ts';

/** Larger than every ID. */
export const VOCABULARY = 300;
export const END = 256;

export interface Attempts {
  /** Answers the right number in so many of ten attempts. Default: 5. */
  readonly right?: number;
  /** The attempts of a question without spaces that get only errors, by the order in which they began, from 0. */
  readonly lost?: readonly number[];
  /** The attempts of this question from this one on get no reply at all. */
  readonly hanging?: { readonly question: string; readonly from: number };
  /** Called before each reply. */
  readonly before?: () => Promise<void> | undefined;
}

/** The question of a task that this endpoint plays. `spaces`: its calls are written as no template writes them. */
export function sumQuestion(a: number, b: number, { spaces = false } = {}): string {
  return `${spaces ? 'spaces ' : ''}sum ${a} ${b}`;
}

/** Starts it. Stop it with `await using`. */
export function tokenEndpoint({ right = 5, lost = [], hanging, before }: Attempts = {}): Promise<FakeEndpoint> {
  const seeds = new Map<string, unknown[]>();
  return chatEndpoint(async ({ body }, response) => {
    await before?.();
    const messages = body['messages'] as JsonObject[];
    const question = text(messages.find(({ role }) => role === 'user')?.['content']);
    const result = messages.findLast(({ role }) => role === 'tool');
    const known = seeds.get(question) ?? [];
    seeds.set(question, known);
    if (result === undefined && !known.includes(body['seed'])) known.push(body['seed']);
    if (question.startsWith('sum') && lost.includes(known.indexOf(body['seed']))) {
      refuse(response, 500, { message: 'the engine has lost its GPU' });
      return;
    }
    if (question === hanging?.question && known.indexOf(body['seed']) >= hanging.from) return;
    const [, a = '0', b = '0'] = /sum (\d+) (\d+)/.exec(question) ?? [];
    const isRight = seedOf(question, JSON.stringify(body['seed'])) % 10 < right;
    const expression = `${a} + ${b}${isRight ? '' : ' + 1'}`;
    const space = question.startsWith('spaces') ? ' ' : '';
    if (result === undefined) answer(body, response, '', `{${space}"expression":${space}"${expression}"}`);
    else answer(body, response, `It is ${text(result['content'])}.`);
  });
}

/** One reply, streamed if the request says so. `call`: arguments of a call of the calculator. */
function answer(body: JsonObject, response: ServerResponse, content: string, call?: string): void {
  const calls =
    call === undefined ? [] : [{ id: 'call_1', type: 'function', function: { name: 'calculate', arguments: call } }];
  const message: JsonObject = { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  const prompt = (body['messages'] as JsonObject[]).flatMap((one) => [
    ...idsOf(headOf(one)),
    ...idsOf(textOf(one)),
    END,
  ]);
  prompt.push(...idsOf('<assistant>'));
  const ids = [...idsOf(textOf(message)), END];
  const logprobs = ids.map((id, index) => -((id + index) % 7) / 8);
  const finish = call === undefined ? 'stop' : 'tool_calls';
  if (body['stream'] === true) {
    answerStream(response, [
      chunk({ delta: { role: 'assistant', content: '' }, top: { prompt_token_ids: prompt } }),
      chunk({
        delta: { content, ...(calls.length === 0 ? {} : { tool_calls: calls.map((one) => ({ index: 0, ...one })) }) },
        ids,
        logprobs,
      }),
      chunk({ finish }),
      usageChunk(prompt.length, ids.length),
    ]);
    return;
  }
  const tokens = logprobs.map((logprob) => ({ token: 't', logprob, bytes: [116], top_logprobs: [] }));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      prompt_token_ids: prompt,
      choices: [{ index: 0, message, finish_reason: finish, logprobs: { content: tokens }, token_ids: ids }],
      usage: { prompt_tokens: prompt.length, completion_tokens: ids.length, total_tokens: prompt.length + ids.length },
    }),
  );
}

/** A message as the policy writes it: its calls follow its text. */
function textOf({ content, tool_calls: calls }: JsonObject): string {
  const written = ((calls ?? []) as { function: { name: string; arguments: string } }[]).map(
    ({ function: { name, arguments: text } }) => `<call>${name} ${text}</call>`,
  );
  return `${text(content)}${written.join('')}`;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const headOf = ({ role }: JsonObject): string => `<${text(role)}>`;
const idsOf = (text: string): number[] => [...Buffer.from(text)];
