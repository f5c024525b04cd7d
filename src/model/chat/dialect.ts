/**
 * What one model of one endpoint does not take. Nothing is known at first: everything is sent, and what is refused
 * with its name is left out from then on (and told, where a trainer needs it).
 */
import type { ReasoningNames } from '../../trace/chat/messages.ts';

/** Fields that a call can do without. */
const OPTIONAL_FIELDS = ['return_token_ids', 'stream_options', 'logprobs', 'seed', 'reasoning', 'max_tokens'] as const;
export type OptionalField = (typeof OPTIONAL_FIELDS)[number];

export class Dialect {
  /** Whether it took a call of this process. */
  answered = false;
  readonly #refused = new Set<OptionalField>();
  #reasoning: ReasoningNames = ['reasoning', 'reasoning_content'];

  /** Names for reasoning that goes back: the one the endpoint itself uses, once it was seen. */
  get reasoning(): ReasoningNames {
    return this.#refused.has('reasoning') ? [] : this.#reasoning;
  }

  takes(field: OptionalField): boolean {
    return !this.#refused.has(field);
  }

  sawReasoning(name: 'reasoning' | 'reasoning_content'): void {
    if (this.#reasoning.length !== 1) this.#reasoning = [name];
  }

  /**
   * Learns from a refusal's text. True when there is a field to leave out now that was sent before, so that the same
   * call may pass. `max_tokens` is then sent as `max_completion_tokens`, as newer models of OpenAI want it.
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
