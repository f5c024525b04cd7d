/**
 * Models whose memory is known by their name, from the `config.json` of each (parameters: from its model card). Others
 * are read from a file (configJson.ts).
 */
import { type ModelShape, precisionOf, weightBytes } from './shape.ts';

type Row = Omit<ModelShape, 'weights'> & {
  /** Without the owner and what says how the weights are stored. */
  readonly name: RegExp;
  /** One of them, as the hub calls it. */
  readonly example: string;
  /** Hints name it in place of a larger one. */
  readonly isSuggested?: true;
} & (
    | { readonly parameters: number; readonly hidden: number; readonly tied?: boolean }
    /** Bytes of the only form of the weights. */
    | { readonly weights: number }
  );

const B = 1e9;
const QWEN3 = { kvHeads: 8, headSize: 128, vocabulary: 151_936, context: 40_960 };
const QWEN2 = { headSize: 128, vocabulary: 152_064, context: 32_768 };
const LLAMA = { kvHeads: 8, headSize: 128, vocabulary: 128_256, context: 131_072 };
const MISTRAL = { heads: 32, kvHeads: 8, headSize: 128, vocabulary: 131_072, layers: 40, hidden: 5120 };
const LONG = 262_144;
const MOE_30B = { ...QWEN3, parameters: 30.5 * B, hidden: 2048, layers: 48, heads: 32, kvHeads: 4 };
const MOE_235B = { ...QWEN3, parameters: 235.1 * B, hidden: 4096, layers: 94, heads: 64, kvHeads: 4 };
/** A gated delta net: 32 or 48 heads of 128 × 128 numbers, and the last 3 inputs of its convolution. */
const deltaNet = (layers: number, heads: number): number =>
  layers * (4 * heads * 128 * 128 + 2 * 3 * (2 * 16 * 128 + heads * 128));
const QWEN35 = { headSize: 256, vocabulary: 248_320, context: LONG };
const QWEN35_35B = { ...QWEN35, parameters: 35.1 * B, hidden: 2048, layers: 10, heads: 16, kvHeads: 2 };
const GPT_OSS = { heads: 64, kvHeads: 8, headSize: 64, vocabulary: 201_088, context: 131_072 };

const ROWS: readonly Row[] = [
  {
    name: /^qwen3-0\.6b/,
    example: 'Qwen/Qwen3-0.6B',
    ...QWEN3,
    parameters: 0.6 * B,
    hidden: 1024,
    tied: true,
    layers: 28,
    heads: 16,
  },
  {
    name: /^qwen3-1\.7b/,
    example: 'Qwen/Qwen3-1.7B',
    ...QWEN3,
    parameters: 1.72 * B,
    hidden: 2048,
    tied: true,
    layers: 28,
    heads: 16,
  },
  {
    name: /^qwen3-4b-(instruct|thinking)-2507/,
    example: 'Qwen/Qwen3-4B-Instruct-2507',
    ...{ ...QWEN3, parameters: 4.02 * B, hidden: 2560, tied: true, layers: 36, heads: 32, context: LONG },
  },
  {
    name: /^qwen3-4b/,
    example: 'Qwen/Qwen3-4B',
    isSuggested: true,
    ...{ ...QWEN3, parameters: 4.02 * B, hidden: 2560, tied: true, layers: 36, heads: 32 },
  },
  {
    name: /^qwen3-8b/,
    example: 'Qwen/Qwen3-8B',
    isSuggested: true,
    ...{ ...QWEN3, parameters: 8.19 * B, hidden: 4096, layers: 36, heads: 32 },
  },
  {
    name: /^qwen3-14b/,
    example: 'Qwen/Qwen3-14B',
    isSuggested: true,
    ...{ ...QWEN3, parameters: 14.77 * B, hidden: 5120, layers: 40, heads: 40 },
  },
  {
    name: /^qwen3-32b/,
    example: 'Qwen/Qwen3-32B',
    isSuggested: true,
    ...{ ...QWEN3, parameters: 32.76 * B, hidden: 5120, layers: 64, heads: 64 },
  },
  {
    name: /^qwen3-(coder-)?30b-a3b-(instruct|thinking)/,
    example: 'Qwen/Qwen3-Coder-30B-A3B-Instruct',
    ...MOE_30B,
    context: LONG,
  },
  { name: /^qwen3-30b-a3b/, example: 'Qwen/Qwen3-30B-A3B', isSuggested: true, ...MOE_30B },
  {
    name: /^qwen3-235b-a22b-(instruct|thinking)/,
    example: 'Qwen/Qwen3-235B-A22B-Thinking-2507',
    ...MOE_235B,
    context: LONG,
  },
  { name: /^qwen3-235b-a22b/, example: 'Qwen/Qwen3-235B-A22B', ...MOE_235B },
  {
    name: /^qwen3-next-80b-a3b/,
    example: 'Qwen/Qwen3-Next-80B-A3B-Instruct',
    ...{ ...QWEN3, parameters: 81.3 * B, hidden: 2048, layers: 12, heads: 16, kvHeads: 2, headSize: 256 },
    ...{ state: deltaNet(36, 32), context: LONG },
  },
  { name: /^qwen3\.[56]-35b-a3b/, example: 'Qwen/Qwen3.5-35B-A3B', ...QWEN35_35B, state: deltaNet(30, 32) },
  { name: /^qwen-agentworld-35b/, example: 'Qwen/Qwen-AgentWorld-35B-A3B', ...QWEN35_35B, state: deltaNet(30, 32) },
  {
    name: /^qwen3\.[56]-27b/,
    example: 'Qwen/Qwen3.5-27B',
    ...{ ...QWEN35, parameters: 27.4 * B, hidden: 5120, layers: 16, heads: 24, kvHeads: 4, state: deltaNet(48, 48) },
  },
  {
    name: /^(qwen2\.5-(coder-)?|deepseek-r1-distill-qwen-)(7b|math-7b)/,
    example: 'Qwen/Qwen2.5-7B-Instruct',
    ...{ ...QWEN2, parameters: 7.62 * B, hidden: 3584, layers: 28, heads: 28, kvHeads: 4 },
  },
  {
    name: /^(qwen2\.5-(coder-)?|deepseek-r1-distill-qwen-)14b/,
    example: 'Qwen/Qwen2.5-Coder-14B-Instruct',
    ...{ ...QWEN2, parameters: 14.77 * B, hidden: 5120, layers: 48, heads: 40, kvHeads: 8 },
  },
  {
    name: /^(qwen2\.5-(coder-)?|deepseek-r1-distill-qwen-|qwq-)32b/,
    example: 'Qwen/QwQ-32B',
    ...{ ...QWEN2, parameters: 32.76 * B, hidden: 5120, layers: 64, heads: 40, kvHeads: 8 },
  },
  {
    name: /^qwen2\.5-72b/,
    example: 'Qwen/Qwen2.5-72B-Instruct',
    ...{ ...QWEN2, parameters: 72.7 * B, hidden: 8192, layers: 80, heads: 64, kvHeads: 8 },
  },
  {
    name: /^llama-3\.2-3b/,
    example: 'meta-llama/Llama-3.2-3B-Instruct',
    ...{ ...LLAMA, parameters: 3.21 * B, hidden: 3072, tied: true, layers: 28, heads: 24 },
  },
  {
    name: /^((meta-)?llama-3\.1-8b|deepseek-r1-distill-llama-8b)/,
    example: 'meta-llama/Llama-3.1-8B-Instruct',
    ...{ ...LLAMA, parameters: 8.03 * B, hidden: 4096, layers: 32, heads: 32 },
  },
  {
    name: /^((meta-)?llama-3\.[13]-70b|deepseek-r1-distill-llama-70b)/,
    example: 'meta-llama/Llama-3.3-70B-Instruct',
    ...{ ...LLAMA, parameters: 70.55 * B, hidden: 8192, layers: 80, heads: 64 },
  },
  {
    name: /^mistral-small-24b-instruct-2501/,
    example: 'mistralai/Mistral-Small-24B-Instruct-2501',
    ...MISTRAL,
    parameters: 23.6 * B,
    context: 32_768,
  },
  {
    name: /^(mistral-small-3\.[12]-24b|devstral-small|magistral-small)/,
    example: 'mistralai/Magistral-Small-2507',
    ...MISTRAL,
    parameters: 24 * B,
    context: 131_072,
  },
  {
    name: /^gpt-oss-20b/,
    example: 'openai/gpt-oss-20b',
    ...GPT_OSS,
    weights: 13.8 * B,
    layers: 12,
    window: { layers: 12, tokens: 128 },
  },
  {
    name: /^gpt-oss-120b/,
    example: 'openai/gpt-oss-120b',
    ...GPT_OSS,
    weights: 65.3 * B,
    layers: 18,
    window: { layers: 18, tokens: 128 },
  },
  {
    name: /^glm-4\.5-air/,
    example: 'zai-org/GLM-4.5-Air',
    ...{ parameters: 110.5 * B, hidden: 4096, layers: 46, heads: 96, kvHeads: 8, headSize: 128 },
    ...{ vocabulary: 151_552, context: 131_072 },
  },
  {
    name: /^seed-oss-36b/,
    example: 'ByteDance-Seed/Seed-OSS-36B-Instruct',
    ...{ parameters: 36.15 * B, hidden: 5120, layers: 64, heads: 80, kvHeads: 8, headSize: 128 },
    ...{ vocabulary: 155_136, context: 524_288 },
  },
  {
    name: /^phi-4-mini-instruct/,
    example: 'microsoft/Phi-4-mini-instruct',
    ...{ parameters: 3.84 * B, hidden: 3072, tied: true, layers: 32, heads: 24, kvHeads: 8, headSize: 128 },
    ...{ vocabulary: 200_064, context: 131_072 },
  },
];

/** Returns the name of a model without its owner or folder, in lower case. */
export function baseName(model: string): string {
  return model.replace(/\/+$/, '').replace(/^.*\//, '').toLowerCase();
}

/** Returns what is known of a model by its name. */
export function knownShape(model: string): ModelShape | undefined {
  const row = ROWS.find(({ name }) => name.test(baseName(model)));
  return row === undefined ? undefined : shapeOf(row, model);
}

/** Returns the models of the catalog, one of each kind. */
export function examples(): readonly string[] {
  return ROWS.map(({ example }) => example);
}

/** Models that hints suggest in place of a larger one, from large to small. */
export function suggestions(): readonly { readonly model: string; readonly shape: ModelShape }[] {
  return ROWS.filter(({ isSuggested }) => isSuggested)
    .map((row) => ({ model: row.example, shape: shapeOf(row, row.example) }))
    .sort((a, b) => b.shape.weights - a.shape.weights);
}

function shapeOf(row: Row, model: string): ModelShape {
  const { name: _, example: __, isSuggested: ___, ...shape } = row;
  if ('weights' in shape) return shape;
  const { parameters, hidden, tied = false, ...rest } = shape;
  return {
    ...rest,
    weights: weightBytes({ parameters, hidden, tied, vocabulary: rest.vocabulary }, precisionOf(model)),
  };
}
