/** The body of a complete response, field by field as in vLLM. */
import { alternativesOf, type Completion, logprobOf } from '../text/completion.ts';
import type { Prompt } from '../text/template.ts';
import { detokenize } from '../text/tokenizer.ts';

/** One response, with what the request asked to include. */
export interface Answer {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Seed of the logprobs and of the calls' IDs. */
  readonly seed: number;
  readonly prompt: Prompt;
  readonly completion: Completion;
  readonly tokenIds: boolean;
  readonly logprobs: boolean;
  readonly topLogprobs: number;
  readonly includeUsage: boolean;
}

export interface Timing {
  readonly queueMs: number;
  readonly firstMs: number;
  readonly totalMs: number;
}

const BLOCK = 16;
const UTF8 = new TextEncoder();
export const FINGERPRINT = 'demo-model';

export function wholeBody(answer: Answer, timing: Timing): string {
  const { completion, prompt } = answer;
  const { turn } = completion;
  const ids = completion.segments.flatMap((segment) => segment.tokens.ids);
  const texts = completion.segments.flatMap((segment) => segment.tokens.texts);
  return JSON.stringify({
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: 'demo',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: turn.content === '' ? null : turn.content,
          refusal: null,
          // absent, not empty, if there are none
          ...(turn.calls.length === 0
            ? {}
            : {
                tool_calls: turn.calls.map((call, i) => ({
                  id: callId(answer.seed, i),
                  type: 'function',
                  function: call,
                })),
              }),
          ...(turn.reasoning === '' ? {} : { reasoning: turn.reasoning }),
        },
        logprobs: answer.logprobs ? { content: logprobsOf(answer, ids, texts, 0) } : null,
        finish_reason: completion.finishReason,
        stop_reason: completion.stopReason,
        token_ids: answer.tokenIds ? ids : null,
      },
    ],
    system_fingerprint: FINGERPRINT,
    usage: usageOf(answer),
    prompt_token_ids: answer.tokenIds ? prompt.parts.flat() : null,
    metrics: metricsOf(answer, timing),
  });
}

/** Returns the ID of a call. IDs differ within a conversation and are the same when a request is repeated. */
export function callId(seed: number, index: number): string {
  return `chatcmpl-tool-${seed.toString(16).padStart(8, '0')}${index.toString(16).padStart(8, '0')}`;
}

export function cachedTokens(prompt: Prompt): number {
  return Math.floor(prompt.cachedTokens / BLOCK) * BLOCK;
}

export function usageOf({ prompt, completion }: Answer): object {
  return {
    prompt_tokens: prompt.count,
    total_tokens: prompt.count + completion.count,
    completion_tokens: completion.count,
    prompt_tokens_details: { cached_tokens: cachedTokens(prompt) },
    completion_tokens_details: { reasoning_tokens: completion.reasoningCount },
  };
}

export function metricsOf({ completion }: Answer, timing: Timing): object {
  const generation = Math.max(0, timing.totalMs - timing.queueMs - timing.firstMs);
  return {
    time_to_first_token_ms: timing.firstMs,
    generation_time_ms: generation,
    queue_time_ms: timing.queueMs,
    mean_itl_ms: generation / Math.max(1, completion.count - 1),
    tokens_per_second: (completion.count * 1000) / Math.max(0.001, timing.totalMs - timing.queueMs),
  };
}

/** Returns one entry per ID; `from` = position of the first in the completion. */
export function logprobsOf(answer: Answer, ids: readonly number[], texts: readonly string[], from: number): object[] {
  return ids.map((id, i) => {
    const entry = {
      token: texts[i] ?? '',
      logprob: logprobOf(answer.seed, from + i),
      bytes: [...UTF8.encode(texts[i] ?? '')],
    };
    if (answer.topLogprobs === 0) return { ...entry, top_logprobs: [] };
    const others = alternativesOf(answer.seed, from + i, id, answer.topLogprobs - 1).map((other) => {
      const token = detokenize([other.id]);
      return { token, logprob: other.logprob, bytes: [...UTF8.encode(token)] };
    });
    return { ...entry, top_logprobs: [entry, ...others] };
  });
}
