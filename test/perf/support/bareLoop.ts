/**
 * The baseline: the same work in a bare Node loop, without recording, server, and scoring. argv: base URL, tasks,
 * attempts, lanes, and how it calls: `whole` or `stream` with the `openai` package, or `undici`, which reads streamed
 * replies directly from undici, parses them, and keeps every step. Prints one JSON line {steps, passed, cpu_s, wall_s,
 * rss}.
 */
import OpenAI from 'openai';
import { Agent, request as send } from 'undici';
import { attemptsInOrder, callSeed, RESULT_TEXT, TOOL } from './work.ts';

const [baseURL = '', ...rest] = process.argv.slice(2);
const [tasks = 1, attempts = 1, lanes = 1] = rest.slice(0, 3).map(Number);
const how = rest[3] ?? 'whole';
const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
const dispatcher = new Agent({ pipelining: 1, connections: null });
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: TOOL,
      description: 'Looks a key up.',
      parameters: {
        type: 'object',
        properties: { key: { type: 'string' } },
        required: ['key'],
        additionalProperties: false,
      },
    },
  },
];

interface Reply {
  content: string;
  calls: { id: string; name: string; arguments: string }[];
}

async function complete(messages: OpenAI.ChatCompletionMessageParam[], seed: number): Promise<Reply> {
  const request = { model: 'bench', messages, tools, seed, temperature: 1, max_tokens: 4096 };
  if (how === 'undici') return await readDirectly(request);
  if (how === 'whole') {
    const message = (await client.chat.completions.create(request)).choices[0]!.message;
    return {
      content: message.content ?? '',
      calls: (message.tool_calls ?? []).flatMap((call) =>
        call.type === 'function' ? [{ id: call.id, name: call.function.name, arguments: call.function.arguments }] : [],
      ),
    };
  }
  const reply: Reply = { content: '', calls: [] };
  for await (const chunk of await client.chat.completions.create({
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    addChunk(reply, chunk);
  }
  return reply;
}

function addChunk(reply: Reply, chunk: OpenAI.ChatCompletionChunk): void {
  const delta = chunk.choices[0]?.delta;
  if (delta?.content) reply.content += delta.content;
  for (const part of delta?.tool_calls ?? []) {
    const call = (reply.calls[part.index] ??= { id: '', name: '', arguments: '' });
    if (part.id !== undefined) call.id = part.id;
    call.name += part.function?.name ?? '';
    call.arguments += part.function?.arguments ?? '';
  }
}

/** Every step, as text: what a careful loop would write to a file. */
const kept: string[] = [];

async function readDirectly(request: object): Promise<Reply> {
  const response = await send(`${baseURL}/chat/completions`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
  });
  const reply: Reply = { content: '', calls: [] };
  const decoder = new TextDecoder();
  let open = '';
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const bytes of response.body) {
    const lines = (open + decoder.decode(bytes as Buffer, { stream: true })).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      const chunk = JSON.parse(line.slice('data: '.length)) as OpenAI.ChatCompletionChunk;
      addChunk(reply, chunk);
      usage = chunk.usage ?? usage;
    }
  }
  kept.push(JSON.stringify({ at: Date.now(), reply, usage }));
  return reply;
}

let steps = 0;
let passed = 0;
async function attemptOnce(task: string, attempt: number): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You look keys up.' },
    { role: 'user', content: `Do task ${task}.` },
  ];
  for (let call = 1; ; call++) {
    const reply = await complete(messages, callSeed(task, attempt, call));
    steps += 1;
    if (reply.calls.length === 0) {
      if (reply.content.includes('done')) passed += 1;
      return;
    }
    messages.push({
      role: 'assistant',
      content: reply.content,
      tool_calls: reply.calls.map((one) => ({
        id: one.id,
        type: 'function',
        function: { name: one.name, arguments: one.arguments },
      })),
    });
    for (const one of reply.calls) {
      const args = JSON.parse(one.arguments) as { key: string };
      messages.push({ role: 'tool', tool_call_id: one.id, content: `${args.key} ${RESULT_TEXT}` });
    }
  }
}

const started = performance.now();
const queue = attemptsInOrder(tasks, attempts);
let next = 0;
await Promise.all(
  Array.from({ length: lanes }, async () => {
    for (let item = queue[next++]; item !== undefined; item = queue[next++]) await attemptOnce(item.task, item.attempt);
  }),
);
const cpu = process.cpuUsage();
process.stdout.write(
  `${JSON.stringify({
    steps,
    passed,
    cpu_s: (cpu.user + cpu.system) / 1e6,
    wall_s: (performance.now() - started) / 1000,
    rss: process.resourceUsage().maxRSS * 1024,
  })}\n`,
);
