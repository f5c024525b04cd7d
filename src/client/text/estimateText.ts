import { plural } from '../../common/text.ts';
import { compact } from '../../common/units.ts';
import type { Estimate, ModelEstimate } from '../../config/estimate.ts';
import { type PlannedPart, samplingText } from '../../config/submission/mixPlan.ts';
import { table } from './table.ts';

/** Renders what a batch will use before it runs. */
export function estimateText({ tasks, attempts, agent, judge, cost, at_least: atLeast }: Estimate): string {
  const priceless = [agent, ...(judge === undefined ? [] : [judge])].some((model) => model.cost === undefined);
  return [
    `${plural(tasks, 'task')}, ${plural(attempts, 'attempt')}; estimated from the lengths of the texts, without` +
      ' thinking:',
    `agent      ${atLeast ? 'at least ' : ''}${modelText(agent)}`,
    ...(judge === undefined ? [] : [`judge      ${modelText(judge)}`]),
    ...(cost === undefined ? [] : [`cost       ${atLeast ? 'at least ' : ''}${cost.toFixed(2)}`]),
    ...(priceless ? ['no cost: write `price` to `model` of the agent and of the judge'] : []),
  ].join('\n');
}

function modelText({ calls, input_tokens: input, output_tokens: output, cost }: ModelEstimate): string {
  const worth = cost === undefined ? '' : `, cost ${cost.toFixed(2)}`;
  return `${plural(calls, 'call')}, ${compact(input)} in, ${compact(output)} out${worth}`;
}

/** Renders the parts of the mix of a batch before it runs; nothing without a mix. */
export function partsText(parts: readonly PlannedPart[]): string[] {
  if (parts.length === 0) return [];
  const rows = parts.map(({ name, attempts, sampling, prompt }) => [
    name,
    String(attempts),
    prompt === undefined ? "the agent's" : (prompt ?? 'its own'),
    samplingText(sampling),
  ]);
  return ['', table([['part', 'attempts', 'prompt', 'sampling'], ...rows], [1])];
}
