/** The tokens of a model call as variables: IDs, log probabilities, and the training mask. */

import { plural } from '../../common/text.ts';
import type { ModelSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { tokensOf } from '../../trace/tokens.ts';
import type { Node, ReadBlob, VariableNodes } from './node.ts';

/** Returns the sampled tokens and the prompt, both paged. Reads them when expanded. */
export function tokenChildren(model: TrajectoryModel, span: ModelSpan, readBlob: ReadBlob): VariableNodes {
  return {
    list: async ({ start, count }, signal) => {
      const tokens = await tokensOf(
        model,
        span,
        async (ref) => JSON.parse(new TextDecoder().decode(await readBlob(ref, signal))) as unknown,
      );
      if (tokens === undefined) return [];
      const { prompt, missing, kept, completion, logprobs } = tokens;
      const mask = span.end?.data.trainable === true ? 1 : 0;
      const mean =
        logprobs === undefined
          ? ''
          : `, mean logprob ${(logprobs.reduce((sum, one) => sum + one, 0) / Math.max(1, logprobs.length)).toFixed(4)}`;
      const nodes: Node[] = [
        {
          name: 'sampled',
          value: `${plural(completion.length, 'token')}${mean}`,
          children: numbered(completion, (id, index) => `${id}${logprobText(logprobs?.[index])}  mask ${mask}`),
        },
        {
          name: 'prompt',
          value: `${plural(missing + prompt.length, 'token')}, ${kept} shared with the previous call`,
          children: numbered(prompt, (id) => `${id}  mask 0`),
        },
      ];
      return nodes.slice(start, start + count);
    },
  };
}

function numbered(ids: readonly number[], text: (id: number, index: number) => string): VariableNodes {
  return {
    indexed: ids.length,
    list: ({ start, count }) =>
      ids
        .slice(start, start + count)
        .map((id, index) => ({ name: String(start + index), value: text(id, start + index) })),
  };
}

function logprobText(logprob: number | undefined): string {
  return logprob === undefined ? '' : `  ${logprob.toFixed(4)} (p ${Math.exp(logprob).toFixed(3)})`;
}
