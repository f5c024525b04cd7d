/** Preference pairs: the best and the worst attempt of a task. */
import type { JsonObject } from '../../common/json.ts';
import { templateMessage } from './chatText.ts';
import type { Turn } from './conversations.ts';
import type { GroupFormat, LeaveOut, TrainingAttempt } from './format.ts';
import { swiftMessages, toolsText } from './sft.ts';

const FACTS = {
  file: 'jsonl',
  per: 'group',
  needs: 'conversations',
  nullRules: ['drop_row', 'drop_group', 'error'],
  pick: bestAndWorst,
} as const;

export const pairsTrl: GroupFormat = {
  ...FACTS,
  id: 'pairs-trl',
  title: 'Preference pairs: TRL',
  text: 'prompt, chosen, rejected, and tools: the best and the worst attempt of each task',
  checked: 'trl 1.16.0: trl/trainer/dpo_trainer.py',
  lines: (attempts, leaveOut) =>
    pairsOf(attempts, leaveOut).map(({ prompt, chosen, rejected, best }) => {
      const written = (turns: readonly Turn[]): JsonObject[] => {
        const names = new Map<string, string>();
        return turns.map(({ message }) => templateMessage(message, names));
      };
      return { prompt: written(prompt), chosen: written(chosen), rejected: written(rejected), tools: toolsText(best) };
    }),
};

export const pairsSwift: GroupFormat = {
  ...FACTS,
  id: 'pairs-swift',
  title: 'Preference pairs: ms-swift',
  text: 'messages and rejected_messages: the best and the worst attempt of each task',
  checked: 'ms-swift 4.6.0: swift/template/template_inputs.py',
  lines: (attempts, leaveOut) =>
    pairsOf(attempts, leaveOut).map(({ prompt, chosen, rejected, best }) => {
      const written = (turns: readonly Turn[]): JsonObject[] =>
        turns.flatMap(({ message, loss, call }) => swiftMessages(message, loss || call === undefined));
      return {
        messages: written([...prompt, ...chosen]),
        rejected_messages: written([...prompt, ...rejected]),
        ...(best.tools.length === 0 ? {} : { tools: toolsText(best) }),
      };
    }),
};

/** Returns the first attempt with the highest reward, and the first one with the lowest, if they differ. */
function bestAndWorst(rewards: readonly (number | null)[]): readonly number[] {
  const known = rewards.flatMap((reward, index) => (reward === null ? [] : [{ reward, index }]));
  const [first] = known;
  if (first === undefined) return [];
  const best = known.reduce((a, b) => (b.reward > a.reward ? b : a), first);
  const worst = known.reduce((a, b) => (b.reward < a.reward ? b : a), first);
  return best.reward === worst.reward ? [] : [best.index, worst.index];
}

interface Pair {
  readonly prompt: readonly Turn[];
  readonly chosen: readonly Turn[];
  readonly rejected: readonly Turn[];
  readonly best: TrainingAttempt;
}

/** Returns one pair, or none with the reason. */
function pairsOf([best, worst]: readonly TrainingAttempt[], leaveOut: LeaveOut): readonly Pair[] {
  if (best === undefined || worst === undefined) return [];
  const [chosen, ...more] = best.conversations;
  const [rejected, ...others] = worst.conversations;
  const none = (why: string): readonly Pair[] => {
    leaveOut(why);
    return [];
  };
  if (chosen === undefined || rejected === undefined) return none('an attempt of the pair has nothing to learn from');
  if (more.length + others.length > 0) return none('an attempt of the pair has several conversations');
  const first = chosen.turns.findIndex(({ call }) => call !== undefined);
  const prompt = chosen.turns.slice(0, first);
  if (JSON.stringify(rejected.turns.slice(0, first)) !== JSON.stringify(prompt))
    return none('the attempts of the pair begin with different messages');
  const pair = { prompt, chosen: chosen.turns.slice(first), rejected: rejected.turns.slice(first), best };
  const text = (turns: readonly Turn[]): string => JSON.stringify(turns.map(({ message }) => message));
  return text(pair.chosen) === text(pair.rejected) ? none('the attempts of the pair are equal') : [pair];
}
