/**
 * Assembles a model's response, from the chunks of a stream or from a complete body. The positions of fields are those
 * observed from vLLM 0.32, OpenAI, and compatible servers. This runs for each chunk, so it checks fields by hand
 * instead of with a schema; a field of the wrong type is ignored.
 */

import type { Json } from '../../common/json.ts';
import { isJsonObject, isTooDeep } from '../../common/json.ts';
import type { Part, Usage } from '../../trace/schema.ts';
import { cutOffCall } from './cutOffCall.ts';

type Raw = Readonly<Record<string, unknown>>;

interface PendingCall {
  id: string | undefined;
  name: string;
  text: string;
}

export interface Answer {
  readonly parts: readonly Part[];
  readonly finishReason: string;
  readonly usage?: Usage;
  readonly queueMs?: number;
  /** Time to the first token, as the engine measured it. */
  readonly firstMs?: number;
  readonly promptIds?: readonly number[];
  readonly completionIds?: readonly number[];
  readonly logprobs?: Float32Array;
}

/** Fields of a message that are text. */
export const TEXT_FIELDS = ['content', 'reasoning', 'reasoning_content'] as const;
export type TextField = (typeof TEXT_FIELDS)[number];

export class AnswerBuilder {
  #text = '';
  #reasoning = '';
  readonly #calls: PendingCall[] = [];
  /** Position in `#calls` of the call that fragments with an index belong to. */
  readonly #callAt = new Map<number, number>();
  #finish: string | undefined;
  #usage: Usage | undefined;
  #queueMs: number | undefined;
  #firstMs: number | undefined;
  #promptIds: number[] | undefined;
  readonly #completionIds: number[] = [];
  #sawIds = false;
  readonly #logprobs: number[] = [];
  /** The field in which the endpoint returns reasoning. */
  reasoningName: 'reasoning' | 'reasoning_content' | undefined;

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /**
   * Adds one chunk of a stream. Returns the new text for people who watch: reasoning, answer, and calls as they are
   * written.
   */
  chunk(raw: Raw): string {
    const choice = this.#outer(raw);
    if (choice === undefined) return '';
    const delta = choice['delta'];
    return isRaw(delta) ? this.#message(delta) : '';
  }

  /** Adds a piece of text; `field`: where it was in a chunk that had nothing else. */
  text(field: TextField, text: string): void {
    if (field === 'content') {
      this.#text += text;
      return;
    }
    this.#reasoning += text;
    this.reasoningName = field;
  }

  /** Adds a complete response. */
  whole(raw: Raw): string {
    const choice = this.#outer(raw);
    const message = choice?.['message'];
    return isRaw(message) ? this.#message(message) : '';
  }

  /** `seed` creates IDs for calls without one; `tools`: whether tools were offered. */
  build(seed: number, tools: boolean): Answer {
    const calls = this.#calls.map(
      (call, index): Part => ({
        type: 'tool_call',
        id: call.id ?? generatedId(seed, index),
        name: call.name,
        arguments: parseArguments(call.text),
      }),
    );
    let text = this.#text;
    const finishReason = this.#finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
    if (tools && calls.length === 0 && finishReason !== 'tool_calls') {
      const cut = cutOffCall(text);
      if (cut !== undefined) {
        text = cut.before;
        calls.push({ type: 'tool_call', id: generatedId(seed, 0), name: cut.name, arguments: cut.raw });
      }
    }
    // A streamed response has line breaks between reasoning and calls that the same complete response does not have.
    const hasText = calls.length > 0 ? text.trim() !== '' : text !== '';
    return {
      parts: [
        ...(this.#reasoning === '' ? [] : [{ type: 'reasoning', content: this.#reasoning } as const]),
        ...(hasText ? [{ type: 'text', content: text } as const] : []),
        ...calls,
      ],
      finishReason,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(this.#queueMs === undefined ? {} : { queueMs: this.#queueMs }),
      ...(this.#firstMs === undefined ? {} : { firstMs: this.#firstMs }),
      ...(this.#promptIds === undefined ? {} : { promptIds: this.#promptIds }),
      ...(this.#sawIds ? { completionIds: this.#completionIds } : {}),
      ...(this.#logprobs.length === 0 ? {} : { logprobs: Float32Array.from(this.#logprobs) }),
    };
  }

  /** Reads the fields around the message: usage, IDs, metrics, and the choice itself. */
  #outer(raw: Raw): Raw | undefined {
    const usage = raw['usage'];
    if (isRaw(usage)) this.#usage = usageOf(usage) ?? this.#usage;
    const metrics = raw['metrics'];
    if (isRaw(metrics)) {
      if (typeof metrics['queue_time_ms'] === 'number') this.#queueMs = Math.max(0, metrics['queue_time_ms']);
      if (typeof metrics['time_to_first_token_ms'] === 'number')
        this.#firstMs = Math.max(0, metrics['time_to_first_token_ms']);
    }
    if (this.#promptIds === undefined) this.#promptIds = numbers(raw['prompt_token_ids']);
    const choices = raw['choices'];
    if (!Array.isArray(choices)) return undefined;
    const choice: unknown = choices[0];
    if (!isRaw(choice)) return undefined;
    const finish = choice['finish_reason'];
    if (typeof finish === 'string') this.#finish = finish;
    const ids = choice['token_ids'];
    if (Array.isArray(ids)) {
      this.#sawIds = true;
      for (const id of ids) if (typeof id === 'number') this.#completionIds.push(id);
    }
    const logprobs = choice['logprobs'];
    if (isRaw(logprobs) && Array.isArray(logprobs['content'])) {
      for (const entry of logprobs['content'] as unknown[]) {
        if (isRaw(entry) && typeof entry['logprob'] === 'number') this.#logprobs.push(entry['logprob']);
      }
    }
    return choice;
  }

  #message(message: Raw): string {
    let added = '';
    const name = typeof message['reasoning'] === 'string' ? 'reasoning' : 'reasoning_content';
    const reasoning = message[name];
    if (typeof reasoning === 'string' && reasoning !== '') {
      this.reasoningName = name;
      this.#reasoning += reasoning;
      added = reasoning;
    }
    const content = message['content'];
    if (typeof content === 'string' && content !== '') {
      this.#text += content;
      added += content;
    }
    const calls = message['tool_calls'];
    if (Array.isArray(calls)) {
      calls.forEach((call: unknown, position) => {
        if (isRaw(call)) added += this.#fragment(call, position);
      });
    }
    return added;
  }

  #fragment(fragment: Raw, position: number): string {
    const index = typeof fragment['index'] === 'number' ? fragment['index'] : position;
    const id = typeof fragment['id'] === 'string' && fragment['id'] !== '' ? fragment['id'] : undefined;
    const inner = isRaw(fragment['function']) ? fragment['function'] : {};
    const name = typeof inner['name'] === 'string' ? inner['name'] : '';
    let text = '';
    if (typeof inner['arguments'] === 'string') text = inner['arguments'];
    else if (isJsonObject(inner['arguments'])) text = JSON.stringify(inner['arguments']);

    const existing = this.#callAt.get(index);
    let call = existing === undefined ? undefined : this.#calls[existing];
    // Some endpoints number every call 0 and distinguish calls by ID.
    if (call === undefined || (id !== undefined && call.id !== undefined && id !== call.id)) {
      call = { id, name, text };
      this.#callAt.set(index, this.#calls.length);
      this.#calls.push(call);
      return `\n${name} ${text}`;
    }
    call.id ??= id;
    call.name ||= name;
    call.text += text;
    return text;
  }
}

/**
 * Parses the arguments of a call. Text that is not a JSON object, or one that is nested too deeply, stays text;
 * empty text is an empty object.
 */
function parseArguments(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && !isTooDeep(value) ? value : text;
  } catch {
    return text;
  }
}

function generatedId(seed: number, index: number): string {
  return `call_${seed.toString(16)}_${index}`;
}

function usageOf(raw: Raw): Usage | undefined {
  const input = count(raw['prompt_tokens']);
  const output = count(raw['completion_tokens']);
  if (input === undefined || output === undefined) return undefined;
  const cached = isRaw(raw['prompt_tokens_details']) ? count(raw['prompt_tokens_details']['cached_tokens']) : undefined;
  const reasoning = isRaw(raw['completion_tokens_details'])
    ? count(raw['completion_tokens_details']['reasoning_tokens'])
    : undefined;
  return {
    input_tokens: input,
    output_tokens: output,
    ...(cached === undefined ? {} : { cached_tokens: cached }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function numbers(value: unknown): number[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : undefined;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null;
}
