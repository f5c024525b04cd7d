/** The lines of the review of a launch. */
import type { LaunchReview } from '../../client/launchReview.ts';
import { nounFor } from '../../common/text.ts';
import { count } from '../../common/units.ts';
import type { Choice } from '../window/questions/answer.ts';
import { answersText, attemptCount, type FileFacts, type LaunchAnswers } from './plan.ts';

export interface ReviewedLaunch {
  readonly facts: FileFacts;
  readonly answers: LaunchAnswers;
  readonly target: string;
}

/** Returns the choices: the first one launches. */
export function reviewChoices(review: LaunchReview, { facts, answers, target }: ReviewedLaunch): Choice<boolean>[] {
  const attempts = attemptCount(answers, facts);
  const { start, waits, shares, limits } = review;
  return [
    {
      label: `Launch ${count(attempts)} ${nounFor(attempts, 'attempt')} on ${target}`,
      description: answersText(answers, facts),
      detail: [start.label, start.text].filter((text) => text !== '').join('. '),
      icon: waits ? 'watch' : 'play',
      value: true,
    },
    ...shares.map(
      ({ kind, label, text }, index): Choice<boolean> => ({
        label,
        description: text,
        icon: kind === 'queue' ? 'list-ordered' : 'account',
        ...(index === 0 ? { section: '' } : {}),
        value: false,
      }),
    ),
    ...limits.map(
      ({ label, text, isReached, isLow }, index): Choice<boolean> => ({
        label,
        description: text,
        icon: isReached || isLow ? 'warning' : 'check',
        ...(index === 0 ? { section: '' } : {}),
        value: false,
      }),
    ),
  ];
}
