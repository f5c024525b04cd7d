import { launchRescore, planRescore } from '../../client/commands/rescore.ts';
import { personName } from '../../client/person.ts';
import { resolveBatch } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { compileCondition } from '../../trace/query.ts';
import { parseFailUnder } from '../../trace/statistics/bar.ts';
import { type Command, FAIL_UNDER_OPTION, flag, oneWord, textOption, textOptions } from '../command.ts';
import { followBatch } from '../follow.ts';

export const rescore: Command = {
  name: 'rescore',
  usage: 'BATCH [--scorer FILE] [--task ID] [--attempt N] [--where CEL]',
  text:
    'Scores recorded attempts again, without running their agent, as a new batch. Its verdicts are kept next to the ' +
    'rewards, which do not change. Works for imported recordings, too, unless the scorer needs a world.',
  options: {
    scorer: {
      type: 'string',
      value: 'FILE',
      text:
        'a batch file, a world file, a verifier of an extracted scenario, or a YAML file with only a `scorer` ' +
        'section; default: the batch’s own scorer with its current code',
    },
    task: { type: 'string', value: 'ID', text: 'score only this task; repeatable', multiple: true },
    attempt: { type: 'string', value: 'N', text: 'score only this attempt of each task; repeatable', multiple: true },
    where: {
      type: 'string',
      value: 'CEL',
      text: "score only attempts that match this condition, e.g. 'reward == 0.0 && usage.output_tokens > 1000'",
    },
    detach: { type: 'boolean', text: 'print the ID of the new batch and leave it running' },
    ...FAIL_UNDER_OPTION,
  },
  async run(context, commandLine) {
    const word = oneWord(rescore, commandLine);
    const bars = textOptions(commandLine, 'fail-under').flatMap(parseFailUnder);
    if (flag(commandLine, 'detach') && bars.length > 0)
      throw new StudioError('usage', '--fail-under cannot be combined with --detach.', {
        hint: 'When the batch has ended, use rollout report BATCH --fail-under ….',
      });
    const where = textOption(commandLine, 'where');
    if (where !== undefined) compileCondition(where); // fail early, before a server starts
    const attempts = textOptions(commandLine, 'attempt').map(attemptNumber);
    const connection = await context.connect();
    const id = await resolveBatch(connection.api, word, context.signal);
    const plan = await planRescore(
      connection.api,
      id,
      { scorer: textOption(commandLine, 'scorer'), tasks: textOptions(commandLine, 'task'), attempts, where },
      context,
      context.signal,
    );
    const launched = await launchRescore(connection.api, plan, personName(context.env), context.signal);
    for (const note of launched.notes) context.log(note);
    if (flag(commandLine, 'detach')) {
      if (context.json) context.printJson(launched);
      else context.print(launched.batch);
      return 0;
    }
    context.log(`batch ${launched.batch} scores ${plural(launched.attempts, 'attempt')} of batch ${id} again`);
    return followBatch(context, connection, launched.batch, { bars });
  },
};

function attemptNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1) return value;
  throw new StudioError('usage', `--attempt must be an integer of at least 1, not “${text}”.`);
}
