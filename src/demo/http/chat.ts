/** `POST /v1/chat/completions`: checks the request, waits for a slot, and sends the response at the configured pace. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Faults, Luck } from '../faults.ts';
import { decide } from '../policy/decide.ts';
import { mix } from '../random.ts';
import type { ChatRequest } from '../request.ts';
import { complete, type Turn } from '../text/completion.ts';
import { type Prompt, renderPrompt } from '../text/template.ts';
import { tokenize } from '../text/tokenizer.ts';
import { chunksOf, usageChunk } from './chunks.ts';
import type { Endpoint } from './endpoint.ts';
import {
  badRequest,
  failureOf,
  type HttpError,
  maxTokensTooLarge,
  noTools,
  promptTooLong,
  unknownModel,
} from './errors.ts';
import { sendError, sendJson } from './send.ts';
import { type Answer, cachedTokens, type Timing, wholeBody } from './whole.ts';

/** Minimum interval between the writes of a stream: more would cost CPU and show nothing. */
const WRITE_EVERY_MS = 15;
/** The share of a response's time before its first token. */
const FIRST_TOKEN = 0.3;
/** Starts with its own token, so that n of these have n times its tokens. */
const THOUGHT = '\nLet me look at that once more.';

export class ChatCall {
  readonly #endpoint: Endpoint;
  readonly #request: ChatRequest;
  readonly #response: ServerResponse;
  #arrived = 0;
  #started = 0;
  #timer: NodeJS.Timeout | undefined;
  #state: 'waiting' | 'running' | 'over' = 'waiting';
  #leaveQueue: () => void = () => undefined;
  readonly #prompt: Prompt;
  readonly #seed: number;
  readonly #id: string;

  constructor(endpoint: Endpoint, request: ChatRequest, incoming: IncomingMessage, response: ServerResponse) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#response = response;
    this.#prompt = renderPrompt(request.messages, request.tools);
    const { calls } = endpoint.counters;
    this.#seed = (request.seed ?? mix(calls, 0x5eed)) >>> 0;
    const header = incoming.headers['x-request-id'];
    const generated = (): string => mix(this.#seed, calls).toString(16).padStart(16, '0');
    this.#id = `chatcmpl-${request.request_id ?? (typeof header === 'string' ? header : generated())}`;
  }

  run(): void {
    const { counters, slots } = this.#endpoint;
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    const luck = this.#endpoint.luck(this.#seed);
    const failure = this.#failure(luck);
    if (failure !== undefined) {
      this.#refuse(failure);
      return;
    }
    const answer = this.#answer(); // all possible errors happen here, not in a timer
    this.#response.once('close', () => {
      if (this.#state === 'over') return;
      counters.aborted++;
      this.#end();
    });
    this.#arrived = performance.now();
    this.#leaveQueue = slots.acquire(() => this.#start(answer, luck));
  }

  /** Returns the error for requests that vLLM rejects immediately. */
  #refusal(): HttpError | undefined {
    const { model, tools, n, temperature, top_logprobs } = this.#request;
    const { context, tools: toolsSupported } = this.#endpoint.faults;
    const maxTokens = this.#request.max_completion_tokens ?? this.#request.max_tokens ?? 0;
    if (model !== undefined && model !== null && model !== 'demo') return unknownModel(model);
    if (!toolsSupported && (tools ?? []).length > 0) return noTools();
    if ((n ?? 1) !== 1) return badRequest('The demo model gives one choice: n must be 1. (parameter=n)', 'n');
    if ((temperature ?? 0) < 0)
      return badRequest(
        `temperature must be non-negative, got ${temperature ?? 0}. (parameter=temperature, value=${temperature ?? 0})`,
        'temperature',
      );
    if ((top_logprobs ?? 0) > 20)
      return badRequest(
        `Requested sample logprobs of ${top_logprobs ?? 0}, which is greater than max allowed: 20 ` +
          `(parameter=logprobs, value=${top_logprobs ?? 0})`,
        'logprobs',
      );
    if (maxTokens > context) return maxTokensTooLarge(maxTokens, context);
    if (this.#prompt.count >= context) return promptTooLong(context);
    return undefined;
  }

  /** Returns the configured failure, or an error if the queue is full. */
  #failure(luck: Luck): HttpError | undefined {
    const { faults, slots } = this.#endpoint;
    if (luck.status !== undefined) return failureOf(luck.status, faults.retryAfter);
    return slots.full && slots.waiting >= faults.queue ? failureOf(503, undefined) : undefined;
  }

  #refuse(error: HttpError): void {
    const { refused } = this.#endpoint.counters;
    refused.set(error.status, (refused.get(error.status) ?? 0) + 1);
    this.#state = 'over';
    sendError(this.#response, error);
  }

  #start(answer: Answer, luck: Luck): void {
    this.#state = 'running';
    this.#started = performance.now();
    this.#endpoint.counters.runningTokens += this.#prompt.count;
    if (this.#request.stream === true) this.#after(luck.latencyMs * FIRST_TOKEN, () => this.#stream(answer, luck));
    else this.#after(luck.latencyMs, () => this.#whole(answer, luck));
  }

  #answer(): Answer {
    const { faults } = this.#endpoint;
    const request = this.#request;
    const available = faults.context - this.#prompt.count;
    const maxTokens = Math.min(available, request.max_completion_tokens ?? request.max_tokens ?? available);
    const stops = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []);
    const turn = thinkAloud(decide(request, this.#seed, faults), faults);
    return {
      id: this.#id,
      created: Math.floor(Date.now() / 1000),
      seed: mix(this.#seed, request.messages.length),
      prompt: this.#prompt,
      completion: complete(turn, maxTokens, stops),
      tokenIds: request.return_token_ids === true,
      logprobs: request.logprobs === true,
      topLogprobs: request.top_logprobs ?? 0,
      includeUsage: request.stream_options?.include_usage === true,
    };
  }

  #whole(answer: Answer, luck: Luck): void {
    const now = performance.now();
    const timing = {
      queueMs: this.#started - this.#arrived,
      firstMs: (now - this.#started) * FIRST_TOKEN,
      totalMs: now - this.#arrived,
    };
    const body = wholeBody(answer, timing);
    if (luck.cutAt !== undefined) {
      this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      this.#response.write(body.slice(0, Math.ceil(body.length * luck.cutAt)), () => this.#break());
      return;
    }
    this.#finished(answer, luck);
    sendJson(this.#response, 200, luck.malformed ? body.slice(0, -20) : body);
  }

  #stream(answer: Answer, luck: Luck): void {
    const began = performance.now();
    const firstMs = began - this.#started;
    const chunks = chunksOf(answer, this.#endpoint.faults.chunks).map((chunk) => `data: ${chunk}\n\n`);
    const end = luck.cutAt === undefined ? chunks.length : Math.max(1, Math.floor(chunks.length * luck.cutAt));
    if (luck.malformed) chunks[Math.floor(chunks.length / 2)] = 'data: {"id": "chatcmpl-\n\n';
    const remainingMs = luck.latencyMs * (1 - FIRST_TOKEN);
    const writes = Math.max(1, Math.min(end - 1, Math.floor(remainingMs / WRITE_EVERY_MS)));
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    let sent = 0;
    const send = (nth: number): void => {
      const to = nth > writes ? end : 1 + Math.floor(((end - 1) * (nth - 1)) / writes);
      const text = chunks.slice(sent, to).join('');
      sent = to;
      if (nth <= writes) {
        if (text !== '' && remainingMs > 0) this.#response.write(text);
        else buffered += text;
        // Timers have whole milliseconds: each write is due by the clock, so that their errors do not add up.
        const dueMs = began + (remainingMs * nth) / writes - performance.now();
        this.#after(remainingMs > 0 ? Math.max(1, dueMs) : 0, () => send(nth + 1));
        return;
      }
      if (luck.cutAt !== undefined) {
        this.#response.write(buffered + text, () => this.#break());
        return;
      }
      const timing: Timing = {
        queueMs: this.#started - this.#arrived,
        firstMs,
        totalMs: performance.now() - this.#arrived,
      };
      const usage = answer.includeUsage ? `data: ${usageChunk(answer, timing)}\n\n` : '';
      this.#finished(answer, luck);
      this.#response.end(`${buffered}${text}${usage}data: [DONE]\n\n`);
    };
    let buffered = ''; // without latency, everything is one write
    send(1);
  }

  /** Breaks off a response: the connection ends while the client expects more. */
  #break(): void {
    this.#endpoint.counters.cut++;
    this.#end();
    this.#response.destroy();
  }

  #finished(answer: Answer, luck: Luck): void {
    const { counters } = this.#endpoint;
    const { finishReason, count, turn } = answer.completion;
    counters.finished.set(finishReason, (counters.finished.get(finishReason) ?? 0) + 1);
    counters.toolCalls += turn.calls.length;
    counters.promptTokens += answer.prompt.count;
    counters.cachedTokens += cachedTokens(answer.prompt);
    counters.generationTokens += count;
    if (luck.malformed) counters.malformed++;
    this.#end();
  }

  /** Returns the slot, once. */
  #end(): void {
    const was = this.#state;
    this.#state = 'over';
    clearTimeout(this.#timer);
    if (was === 'waiting') this.#leaveQueue();
    if (was !== 'running') return;
    this.#endpoint.counters.runningTokens -= this.#prompt.count;
    this.#endpoint.slots.release();
  }

  #after(ms: number, run: () => void): void {
    if (ms <= 0) run();
    else this.#timer = setTimeout(run, ms);
  }
}

/** A stream of many chunks needs as many tokens, so short responses get more reasoning. */
function thinkAloud(turn: Turn, { chunks }: Faults): Turn {
  if (chunks === undefined) return turn;
  const missing = chunks - tokenize(turn.reasoning).ids.length;
  if (missing <= 0) return turn;
  const times = Math.ceil(missing / tokenize(THOUGHT).ids.length);
  return { ...turn, reasoning: turn.reasoning + THOUGHT.repeat(times) };
}
