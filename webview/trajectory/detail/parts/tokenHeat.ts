/** Computes how uncertain a model was about its tokens. */

/** −logprob of the maximum heat: a probability of one in ten. */
const HOT = 2.3;

/** Returns 0 if the model was certain or unknown, up to 1 if it was very uncertain. */
export function heatOf(logprob: number | undefined): number {
  return logprob === undefined || Number.isNaN(logprob) ? 0 : Math.min(1, Math.max(0, -logprob / HOT));
}

interface Bin {
  /** Index of its most uncertain token. */
  readonly index: number;
  readonly heat: number;
}

/** Splits all tokens into at most `most` bins, in order. */
export function binsOf(logprobs: readonly number[], most: number): Bin[] {
  const bins = Math.min(most, logprobs.length);
  return Array.from({ length: bins }, (_, bin) => {
    const from = Math.floor((bin * logprobs.length) / bins);
    const to = Math.floor(((bin + 1) * logprobs.length) / bins);
    let hottest = from;
    for (let i = from + 1; i < to; i++) if (heatOf(logprobs[i]) > heatOf(logprobs[hottest])) hottest = i;
    return { index: hottest, heat: heatOf(logprobs[hottest]) };
  });
}

interface LogprobSummary {
  readonly mean: number;
  readonly lowest: number;
}

/** Returns undefined without log probabilities. */
export function summaryOf(logprobs: readonly number[]): LogprobSummary | undefined {
  if (logprobs.length === 0) return undefined;
  let sum = 0;
  let lowest = Infinity;
  for (const value of logprobs) {
    sum += value;
    lowest = Math.min(lowest, value);
  }
  return { mean: sum / logprobs.length, lowest };
}
