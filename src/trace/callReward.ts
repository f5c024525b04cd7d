import type { EventData, EventOf } from './schema.ts';

/** Prefix of the scorers of calls that say whether a world model obeyed a rule. */
const CONTROL = 'control:';

/** Returns the scorer of a rule's check. */
export function controlScorer(rule: string): string {
  return CONTROL + rule;
}

/** Returns the rule whose check a score of a call is; undefined for other scores. */
export function ruleOfScore({ scorer }: Pick<EventData['score'], 'scorer'>): string | undefined {
  return scorer.startsWith(CONTROL) ? scorer.slice(CONTROL.length) : undefined;
}

/** Whether a score of a call judges the agent's call, rather than a world's prediction or obedience. */
export function isReward(score: EventData['score']): boolean {
  return score.prediction === undefined && ruleOfScore(score) === undefined;
}

/** Returns the newest score of an agent's call. */
export function rewardOf(scores: readonly EventOf<'score'>[]): EventOf<'score'> | undefined {
  return scores.findLast(({ data }) => isReward(data));
}
