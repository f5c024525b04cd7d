/**
 * What one model of one endpoint does not support. At first, every field is sent. A field that the endpoint rejects by
 * name is omitted from then on (and reported where a trainer needs it).
 */
import type { ReasoningNames } from '../../trace/chat/messages.ts';

/** Fields that are optional for a call. */
const OPTIONAL_FIELDS = ['return_token_ids', 'stream_options', 'logprobs', 'seed', 'reasoning', 'max_tokens'] as const;
export type OptionalField = (typeof OPTIONAL_FIELDS)[number];

export class Dialect {
  /** Whether it accepted a call of this process. */
  answered = false;
  /** Whether a whole reply took too long, so that calls are streamed from then on, unless the agent file forbids it. */
  slow = false;
  readonly #refused = new Set<OptionalField>();
  #reasoning: ReasoningNames = ['reasoning', 'reasoning_content'];

  /** Field names for reasoning that is sent back: the endpoint's own name, once it was seen. */
  get reasoning(): ReasoningNames {
    return this.#refused.has('reasoning') ? [] : this.#reasoning;
  }

  supports(field: OptionalField): boolean {
    return !this.#refused.has(field);
  }

  sawReasoning(name: 'reasoning' | 'reasoning_content'): void {
    if (this.#reasoning.length !== 1) this.#reasoning = [name];
  }

  /**
   * Learns from the text of a rejection. Returns true if it identifies a field that was sent and can be omitted, so
   * that the same call may succeed. `max_tokens` is then sent as `max_completion_tokens`, which newer models of OpenAI
   * require.
   */
  learn(refusal: string, sent: ReadonlySet<OptionalField>): boolean {
    let learned = false;
    for (const field of OPTIONAL_FIELDS) {
      if (!sent.has(field) || this.#refused.has(field)) continue;
      if (field === 'max_tokens' ? !refusal.includes('max_completion_tokens') : !NAMES[field].test(refusal)) continue;
      this.#refused.add(field);
      learned = true;
    }
    return learned;
  }
}

const NAMES: Readonly<Record<Exclude<OptionalField, 'max_tokens'>, RegExp>> = {
  return_token_ids: /return_token_ids/,
  stream_options: /stream_options|include_usage/,
  logprobs: /logprobs/,
  seed: /\bseed\b/,
  reasoning: /\breasoning(_content)?\b/,
};
