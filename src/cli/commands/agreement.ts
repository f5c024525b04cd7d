import { resolveBatch } from '../../client/reference.ts';
import { agreementText } from '../../client/text/agreementText.ts';
import { agreementOf } from '../../trace/agreement/agreement.ts';
import { REWARD, rowsByScorer } from '../../trace/verdicts.ts';
import { type Command, oneWord, textOptions } from '../command.ts';

export const agreement: Command = {
  name: 'agreement',
  usage: 'BATCH [--scorer NAME]…',
  text:
    'Compares the reward of a batch with the later verdicts of other scorers and people: shares, confusion, Cohen’s ' +
    'kappa of two, Krippendorff’s alpha of all, and the attempts on which they disagree.',
  options: {
    scorer: {
      type: 'string',
      value: 'NAME',
      text: 'compare only these scorers; `reward` is the one that wrote the reward; repeatable',
      multiple: true,
    },
  },
  async run(context, commandLine) {
    const word = oneWord(agreement, commandLine);
    const { api } = await context.connect();
    const batch = await resolveBatch(api, word, context.signal);
    const rows = await Array.fromAsync(api.allRollouts(batch, { all: 1 }, context.signal));
    const scorers = textOptions(commandLine, 'scorer');
    for (const scorer of scorers) if (scorer !== REWARD) rowsByScorer(rows, scorer); // throws for an unknown one
    const result = agreementOf(batch, rows, scorers.length === 0 ? undefined : scorers);
    if (context.json) context.printJson(result);
    else context.print(agreementText(result));
    return 0;
  },
};
