/** Asks for one part of an export's selection. */
import { StudioError } from '../../../common/errors.ts';
import { OUTCOMES } from '../../../trace/outcome.ts';
import { compileCondition } from '../../../trace/query.ts';
import { type Selection, SPLIT_PARTS } from '../../../trace/selection/selection.ts';
import { type Answer, BACK } from '../../window/questions/answer.ts';
import { input, pickMany, pickOne, type StepPlace } from '../../window/questions/dialogue.ts';
import { type Change, type ExportChoices, parseRange, rulesOf, ruleText } from './choices.ts';

/** Default split, as in `rollout export`. */
const SPLIT = { seed: 42, share: 0.1 };

/** Returns the changed choices. */
export async function askChange(
  place: StepPlace,
  choices: ExportChoices,
  change: Change,
): Promise<Answer<ExportChoices>> {
  const by = choices.selection;
  /** Without the key if the value is undefined. */
  const selecting = <K extends keyof Selection>(key: K, value: Selection[K] | undefined): ExportChoices => {
    const { [key]: _before, ...rest } = by;
    return { ...choices, selection: value === undefined ? rest : { ...rest, [key]: value } };
  };
  switch (change) {
    case 'outcomes': {
      const listed = (choices.format === 'csv' ? OUTCOMES : OUTCOMES.slice(0, 6)).map((value) => ({
        label: value,
        value,
      }));
      const answer = await pickMany(place, listed, { placeholder: 'Select the outcomes' });
      return answered(answer, (outcomes) => selecting('outcomes', [...outcomes]));
    }
    case 'reward': {
      const answer = await askRange(
        place,
        'Rewards, both ends included, such as 0.5.. or 0..1',
        by.reward?.min,
        by.reward?.max,
      );
      return answered(answer, ({ low, high }) =>
        selecting('reward', low === undefined && high === undefined ? undefined : withEnds('min', low, 'max', high)),
      );
    }
    case 'rate': {
      const prompt = 'Share of passed attempts, without both ends: 0..1 takes tasks with passed and failed attempts';
      const answer = await askRange(place, prompt, by.rate?.above, by.rate?.below);
      return answered(answer, ({ low, high }) =>
        selecting('rate', low === undefined && high === undefined ? undefined : withEnds('above', low, 'below', high)),
      );
    }
    case 'where': {
      const answer = await input(place, {
        prompt: 'Condition over task, attempt, step, usage, world, reward, verdicts, and status; empty for none',
        value: by.where ?? '',
        placeholder: 'step < 20',
        validate: conditionProblem,
      });
      return answered(answer, (text) => selecting('where', text.trim() === '' ? undefined : text.trim()));
    }
    case 'per_task': {
      const answer = await input(place, {
        prompt: 'Maximum number of attempts of each task; empty for all',
        value: by.per_task === undefined ? '' : String(by.per_task),
        validate: (text) => (/^\s*(?:[1-9]\d*)?\s*$/.test(text) ? undefined : 'Enter a number from 1.'),
      });
      return answered(answer, (text) => selecting('per_task', text.trim() === '' ? undefined : Number(text)));
    }
    case 'distinct':
      return selecting('distinct', by.distinct === true ? undefined : true);
    case 'split': {
      const answer = await pickOne(
        place,
        [
          { label: 'None', value: undefined },
          ...SPLIT_PARTS.map((part) => ({ label: part, description: 'by task, 10 % in test', value: part })),
        ].map(({ value, ...rest }) => ({ ...rest, value: { part: value } })),
        { placeholder: 'Select a part. A task is in the same part in every batch' },
      );
      return answered(answer, ({ part }) => selecting('split', part === undefined ? undefined : { ...SPLIT, part }));
    }
    case 'null_reward': {
      const rules = (rulesOf(choices.format) ?? []).map((rule) => ({
        label: rule,
        description: ruleText(rule),
        value: rule,
      }));
      const placeholder = 'Attempts without a reward, lost, canceled, or changed by a person are never written with 0';
      return answered(await pickOne(place, rules, { placeholder }), (nullReward) => ({ ...choices, nullReward }));
    }
    case 'paths':
      return { ...choices, hidePaths: choices.hidePaths !== true };
  }
}

function answered<T extends object | string>(
  answer: Answer<T>,
  change: (value: T) => ExportChoices,
): Answer<ExportChoices> {
  return answer === undefined || answer === BACK ? answer : change(answer);
}

async function askRange(
  place: StepPlace,
  prompt: string,
  low: number | undefined,
  high: number | undefined,
): Promise<Answer<{ low?: number; high?: number }>> {
  const answer = await input(place, {
    prompt: `${prompt}; empty for any`,
    value: low === undefined && high === undefined ? '' : `${low ?? ''}..${high ?? ''}`,
    validate: (text) =>
      text.trim() === '' || parseRange(text) !== undefined
        ? undefined
        : 'Enter two numbers around “..”; one may be missing.',
  });
  return answer === undefined || answer === BACK ? answer : (parseRange(answer) ?? {});
}

function withEnds<A extends string, B extends string>(
  from: A,
  low: number | undefined,
  to: B,
  high: number | undefined,
): { [K in A | B]?: number } {
  const ends: { [K in A | B]?: number } = {};
  if (low !== undefined) ends[from] = low;
  if (high !== undefined) ends[to] = high;
  return ends;
}

function conditionProblem(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  try {
    compileCondition(text);
    return undefined;
  } catch (error) {
    if (StudioError.is(error)) return error.message;
    throw error;
  }
}
