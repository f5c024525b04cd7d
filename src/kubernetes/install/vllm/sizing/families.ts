/**
 * What `vllm serve` needs to understand the answers of a family of models, as its documentation lists it
 * (https://docs.vllm.ai/en/latest/features/tool_calling/ and …/features/reasoning_outputs/).
 */
import { baseName } from './catalog.ts';

export interface Family {
  readonly toolParser?: string;
  readonly reasoningParser?: string;
  /** Further flags without which it is not read correctly. */
  readonly flags?: Readonly<Record<string, string>>;
}

const FAMILIES: readonly (Family & { readonly name: RegExp })[] = [
  // They write their calls as XML.
  { name: /^qwen3-coder/, toolParser: 'qwen3_coder' },
  { name: /^(qwen3\.[5-9]|qwen-agentworld)/, toolParser: 'qwen3_coder', reasoningParser: 'qwen3' },
  // Answers without reasoning: a parser would wait for its end.
  { name: /^qwen3-.*instruct/, toolParser: 'hermes' },
  { name: /^qwen3-/, toolParser: 'hermes', reasoningParser: 'qwen3' },
  { name: /^qwq-/, toolParser: 'hermes', reasoningParser: 'deepseek_r1' },
  // Its calls are code blocks, which no parser of vLLM reads.
  { name: /^qwen2\.5-coder/ },
  { name: /^qwen2\.5-/, toolParser: 'hermes' },
  { name: /^deepseek-r1-distill/, reasoningParser: 'deepseek_r1' },
  { name: /^(meta-)?llama-3\.[123]/, toolParser: 'llama3_json' },
  { name: /^(meta-)?llama-4/, toolParser: 'llama4_pythonic' },
  {
    name: /^magistral/,
    toolParser: 'mistral',
    reasoningParser: 'mistral',
    flags: { '--tokenizer-mode': 'mistral', '--config-format': 'mistral', '--load-format': 'mistral' },
  },
  {
    name: /^(mistral-small|devstral|ministral)/,
    toolParser: 'mistral',
    flags: { '--tokenizer-mode': 'mistral', '--config-format': 'mistral', '--load-format': 'mistral' },
  },
  { name: /^gpt-oss/, toolParser: 'openai', reasoningParser: 'openai_gptoss' },
  { name: /^glm-4\.[56]/, toolParser: 'glm45', reasoningParser: 'glm45' },
  { name: /^glm-4\.7/, toolParser: 'glm47', reasoningParser: 'glm47' },
  { name: /^seed-oss/, toolParser: 'seed_oss', reasoningParser: 'seed_oss' },
  { name: /^phi-4-mini/, toolParser: 'phi4_mini_json' },
  { name: /^granite-4/, toolParser: 'granite4' },
  { name: /^minimax-m2/, toolParser: 'minimax_m2', reasoningParser: 'minimax_m2' },
];

/** Returns the family of a model by its name; undefined if it is unknown. */
export function familyOf(model: string): Family | undefined {
  const base = baseName(model);
  return FAMILIES.find(({ name }) => name.test(base));
}
