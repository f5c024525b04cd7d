/** Estimates what it costs to predict recorded calls, before it is paid. */
import type { SubmittedModel, SubmittedWorld } from '../../config/submission.ts';
import type { Recording } from '../../trace/replay.ts';

export interface Estimate {
  /** Calls to predict. */
  readonly calls: number;
  /** Calls of models: the world's, and the judge's. */
  readonly model_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Absent if a model has no price. Prefix caching makes it cheaper. */
  readonly cost?: number | undefined;
}

/** English text and JSON, for the tokenizers of current models. */
const CHARS_PER_TOKEN = 4;
/** What a judge gets besides the conversation, and what it answers. */
const JUDGE_PROMPT = 900;
const JUDGE_REPLY = 250;

/** Every call is predicted after the whole conversation before it, and judged with it. */
export function estimateOf(
  recordings: readonly Recording[],
  world: SubmittedWorld,
  judge: SubmittedModel | undefined,
): Estimate {
  const model = world.kind === 'simulated' ? world.model : undefined;
  const prompt = world.kind === 'simulated' ? tokensOf({ texts: world.texts, definitions: world.definitions }) : 0;
  const sums = { calls: 0, world: { input: 0, output: 0 }, judge: { input: 0, output: 0 } };
  for (const { calls } of recordings) {
    let history = 0;
    for (const { name, arguments: args, response, refused } of calls) {
      if (refused === true) continue;
      const [asked, answered] = [tokensOf({ name, args }), tokensOf(response)];
      sums.calls++;
      sums.world.input += prompt + history + asked;
      sums.world.output += answered;
      sums.judge.input += JUDGE_PROMPT + history + asked + 2 * answered;
      sums.judge.output += JUDGE_REPLY;
      history += asked + answered;
    }
  }
  const used = [
    ...(model === undefined ? [] : [{ model, ...sums.world }]),
    ...(judge === undefined ? [] : [{ model: judge, ...sums.judge }]),
  ];
  const prices = used.map(({ model: { price }, input, output }) =>
    price === undefined ? undefined : (input * price.input + output * price.output) / 1e6,
  );
  const cost =
    prices.length === 0 || prices.includes(undefined)
      ? undefined
      : prices.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  return {
    calls: sums.calls,
    model_calls: sums.calls * used.length,
    input_tokens: used.reduce((sum, { input }) => sum + input, 0),
    output_tokens: used.reduce((sum, { output }) => sum + output, 0),
    ...(cost === undefined ? {} : { cost }),
  };
}

function tokensOf(value: unknown): number {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}
