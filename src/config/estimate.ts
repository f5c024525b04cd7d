/** What a batch will use, from the lengths of its texts: tokens of its agents and its judge, and what they cost. */
import type { Json } from '../common/json.ts';
import type { FileTask } from './dataset/columns.ts';
import type { LoadedBatch } from './load.ts';
import type { ModelSection } from './schema/modelSection.ts';

const CHARS_PER_TOKEN = 4;
/** What the judge is asked besides the material, and what it replies, in tokens. */
const JUDGE_TOKENS = { input: 1500, output: 700 };
/** An answer whose length nothing says, in tokens. */
const ANSWER_TOKENS = 300;

export interface ModelEstimate {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Absent without a price. */
  readonly cost?: number;
}

export interface Estimate {
  readonly tasks: number;
  readonly attempts: number;
  readonly agent: ModelEstimate;
  readonly judge?: ModelEstimate;
  /** Of both; absent if one of them has no price. */
  readonly cost?: number;
  /** The agent may need more than one call: it has tools, a team, or a world. */
  readonly at_least: boolean;
}

interface Sum {
  input: number;
  output: number;
}

/** Adds up the texts of tasks. Thinking is not known before a run, so what it takes comes on top. */
export class UsageEstimate {
  readonly #batch: LoadedBatch;
  readonly #agent: Sum = { input: 0, output: 0 };
  readonly #judge: Sum = { input: 0, output: 0 };
  #tasks = 0;

  constructor(batch: LoadedBatch) {
    this.#batch = batch;
  }

  add({ question, messages = [], answer }: FileTask): void {
    const { agent } = this.#batch;
    const prompt = messages[0]?.role === 'system' ? 0 : (agent.prompt?.text.length ?? 0);
    const before = messages.reduce((sum, { text }) => sum + text.length, 0);
    const expected = answer === undefined ? undefined : tokens(lengthOf(answer));
    this.#tasks += 1;
    this.#agent.input += tokens(prompt + before + question.length);
    this.#agent.output += expected ?? ANSWER_TOKENS;
    this.#judge.input += JUDGE_TOKENS.input + tokens(question.length) + (expected ?? 0) + (expected ?? ANSWER_TOKENS);
    if (this.#judgeModel()?.seesHistory === true)
      this.#judge.input += tokens(before - (messages[0]?.role === 'system' ? messages[0].text.length : 0));
    this.#judge.output += JUDGE_TOKENS.output;
  }

  /** `attempts`: per task. */
  result(attempts: number): Estimate {
    const { agent, world } = this.#batch;
    const judged = this.#judgeModel();
    const calls = this.#tasks * attempts;
    const ofAgent = estimateOf(this.#agent, attempts, calls, agent.file.model);
    const judge = judged === undefined ? undefined : estimateOf(this.#judge, attempts, calls, judged.model);
    const hasCost = ofAgent.cost !== undefined && (judge === undefined || judge.cost !== undefined);
    return {
      tasks: this.#tasks,
      attempts: calls,
      agent: ofAgent,
      ...(judge === undefined ? {} : { judge }),
      ...(hasCost ? { cost: (ofAgent.cost ?? 0) + (judge?.cost ?? 0) } : {}),
      at_least: agent.file.tools.length > 0 || agent.team !== undefined || world !== undefined,
    };
  }

  #judgeModel(): { readonly model: ModelSection; readonly seesHistory: boolean } | undefined {
    const { scorer } = this.#batch.file;
    return scorer.kind === 'judge' ? { model: scorer.model, seesHistory: scorer.subject === 'observation' } : undefined;
  }
}

function estimateOf(sum: Sum, attempts: number, calls: number, model: ModelSection | undefined): ModelEstimate {
  const { input, output } = { input: sum.input * attempts, output: sum.output * attempts };
  const price = model?.price;
  return {
    calls,
    input_tokens: input,
    output_tokens: output,
    ...(price === undefined ? {} : { cost: (input * price.input + output * price.output) / 1e6 }),
  };
}

function tokens(characters: number): number {
  return Math.ceil(characters / CHARS_PER_TOKEN);
}

function lengthOf(value: Json): number {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length;
}
