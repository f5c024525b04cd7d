/**
 * A model server with negligible cost: its replies are prepared. Runs as a separate process. argv: median latency in
 * ms, sigma, chunks per streamed reply (1 = the whole text in one), calls of an attempt. Prints its port. `GET /stats`
 * returns the number of calls and the times (ms since the epoch) of the first request and the last reply; `GET /again`
 * how often each call was repeated, by seed.
 */
import { createServer } from 'node:http';
import { latencyMs, REPLY_TEXT, TOOL, TURNS, WORLD } from './work.ts';

const [medianMs = 0, sigma = 1, chunks = 1, turns = TURNS] = process.argv.slice(2).map(Number);
const stats = { calls: 0, first: 0, last: 0 };
const seen = new Map<number, number>();
const usage = { prompt_tokens: 2400, completion_tokens: 190, total_tokens: 2590 };
const head = { id: 'chatcmpl-bench', created: 1, model: 'bench' };

/** Tokens of the first prompt, of each reply, and of what comes between two calls. */
const IDS = { prompt: 2_000, reply: 190, between: 60 };

/** The tokens of a call, as vLLM returns them: each prompt begins with those of the call before. */
function tokensOf(turn: number): { readonly prompt: readonly number[]; readonly reply: readonly number[] } {
  const prompt = Array.from({ length: IDS.prompt + (turn - 1) * (IDS.reply + IDS.between) }, (_, at) => at % 30_000);
  return { prompt, reply: Array.from({ length: IDS.reply }, (_, at) => (prompt.length + at) % 30_000) };
}

function withTokens(text: string, turn: number): string {
  const { prompt, reply } = tokensOf(Math.max(1, turn));
  const content = reply.map((id) => ({ token: 't', logprob: -1 / (1 + (id % 7)), bytes: null, top_logprobs: [] }));
  const choice = `"token_ids":${JSON.stringify(reply)},"logprobs":${JSON.stringify({ content })},"finish_reason"`;
  const top = `{"prompt_token_ids":${JSON.stringify(prompt)},`;
  return top + text.slice(1).replace('"finish_reason"', choice);
}

function whole(final: boolean, turn: number): string {
  const message = final
    ? { role: 'assistant', content: `done ${REPLY_TEXT}` }
    : {
        role: 'assistant',
        content: REPLY_TEXT,
        tool_calls: [
          {
            id: `call_${turn}`,
            type: 'function',
            function: { name: TOOL, arguments: JSON.stringify({ key: `k${turn}` }) },
          },
        ],
      };
  return JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: final ? 'stop' : 'tool_calls' }],
    usage,
  });
}

function streamed(final: boolean, turn: number): string[] {
  const line = (choices: unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  const text = final ? `done ${REPLY_TEXT}` : REPLY_TEXT;
  const size = Math.ceil(text.length / chunks);
  const lines = [line([{ index: 0, delta: { role: 'assistant', content: '' } }])];
  for (let at = 0; at < text.length; at += size)
    lines.push(line([{ index: 0, delta: { content: text.slice(at, at + size) } }]));
  if (!final) {
    lines.push(
      line([
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, id: `call_${turn}`, type: 'function', function: { name: TOOL } }] },
        },
      ]),
    );
    lines.push(
      line([
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, function: { arguments: JSON.stringify({ key: `k${turn}` }) } }] },
        },
      ]),
    );
  }
  lines.push(line([{ index: 0, delta: {}, finish_reason: final ? 'stop' : 'tool_calls' }]));
  lines.push(line([], { usage }), 'data: [DONE]\n\n');
  return lines;
}

const wholes = Array.from({ length: turns + 1 }, (_, turn) => whole(turn === turns, turn));
const tokens = wholes.map(withTokens);
const streams = Array.from({ length: turns + 1 }, (_, turn) => streamed(turn === turns, turn));

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    if (request.url === '/stats') response.end(JSON.stringify(stats));
    else if (request.url === '/again')
      response.end(JSON.stringify(Object.fromEntries([...seen].filter(([, times]) => times > 1))));
    else if (request.url === '/v1/models')
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ object: 'list', data: [{ id: 'bench', object: 'model' }] }));
    else response.writeHead(404).end('{}');
    return;
  }
  if (stats.first === 0) stats.first = Date.now();
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    stats.calls += 1;
    const body = Buffer.concat(parts).toString();
    // A model that plays the world answers with a text.
    const turn = body.includes(`"model":"${WORLD}"`) ? turns : body.split('"role":"assistant"').length;
    const seed = Number(/"seed":(\d+)/.exec(body)?.[1] ?? 0);
    seen.set(seed, (seen.get(seed) ?? 0) + 1);
    const wait = latencyMs(seed, { medianMs, sigma });
    if (wait === 0) answer();
    else setTimeout(answer, wait);
    function answer(): void {
      if (body.includes('"stream":true')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const line of streams[turn] ?? []) response.write(line);
        response.end();
      } else {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end((body.includes('"return_token_ids":true') ? tokens : wholes)[turn]);
      }
      stats.last = Date.now();
    }
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
});
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
