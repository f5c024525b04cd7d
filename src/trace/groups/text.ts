/** Names and texts of groups, for pages and the command line. */
import { compact } from '../../common/units.ts';
import type { Estimator } from './advantages.ts';
import type { WastedTokens } from './figures.ts';
import type { RewardGroup } from './group.ts';

/** As their trainers and papers write them. */
export const ESTIMATOR_NAMES: Readonly<Record<Estimator, string>> = {
  ms_swift: 'ms-swift',
  trl: 'TRL',
  verl: 'verl',
  dr_grpo: 'Dr. GRPO',
  rloo: 'RLOO',
  leave_one_out: 'leave one out',
};

/** Formats a reward without digits that say nothing: `1`, `0.25`. */
export function rewardText(reward: number): string {
  return Number(reward.toFixed(3)).toString();
}

/** Formats an advantage with its sign: `+1.50`, `−0.50`, `0`. */
export function advantageText(advantage: number): string {
  const text = Math.abs(advantage).toFixed(2);
  if (Number(text) === 0) return '0';
  return `${advantage < 0 ? '−' : '+'}${text}`;
}

/** Returns why nothing can be learned from a group; undefined if something can, or if it is not known yet. */
export function noSignalText({ signal, mean }: Pick<RewardGroup, 'signal' | 'mean'>): string | undefined {
  if (signal === 'none') return `No signal: all ${rewardText(mean ?? 0)}`;
  return signal === 'excluded' ? 'No signal: no attempt counts' : undefined;
}

/** Lists the parts of wasted tokens that are not 0, largest first. */
export function wastedParts({ tries, excluded, no_signal: noSignal }: WastedTokens): string[] {
  const parts = [
    { tokens: noSignal, of: 'in groups without signal' },
    { tokens: excluded, of: 'of excluded attempts' },
    { tokens: tries, of: 'of other tries' },
  ];
  return parts
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => b.tokens - a.tokens)
    .map(({ tokens, of }) => `${compact(tokens)} ${of}`);
}
