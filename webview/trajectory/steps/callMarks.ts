/** Marks of a tool call in its row: scores of the call, and what it shows about its world. */
import { isReward, ruleOfScore } from '../../../src/trace/callReward.ts';
import { casesOf, RATE_NAMES } from '../../../src/trace/control/rateText.ts';
import { worldChecksOf } from '../../../src/trace/control/worldChecks.ts';
import type { ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventData } from '../../../src/trace/schema.ts';
import { scoreText as formatScore } from '../../../src/trace/text/score.ts';
import { worldMark } from '../../../src/trace/worldMarks.ts';
import type { RowText } from './rowText.ts';

/** Returns the mark of a score of a call. Predictions have their own. */
export function scoreMark(score: EventData['score']): RowText['marks'] {
  const rule = ruleOfScore(score);
  if (rule !== undefined)
    return [
      {
        text: score.passed === true ? 'obeyed' : 'not obeyed',
        title: [`The rule ${rule}`, score.explanation].filter(Boolean).join(': '),
        kind: score.passed === true ? 'plain' : 'changed',
      },
    ];
  if (!isReward(score)) return [];
  return [
    {
      text: `reward ${score.value === null ? 'none' : formatScore(score.value)}`,
      title: [`Score of this call alone by ${score.scorer}`, score.explanation].filter(Boolean).join('. '),
      kind: 'plain',
    },
  ];
}

/** Returns the marks of a call that shows that its world is wrong. */
export function worldFaultMarks(model: TrajectoryModel, span: ToolSpan): RowText['marks'] {
  return casesOf(worldChecksOf(model), span.seq).flatMap(({ rate, held, text }) =>
    held
      ? []
      : [
          {
            text: rate === 'consistency' ? 'inconsistent' : 'should fail',
            title: `${RATE_NAMES[rate]}: ${text}`,
            kind: 'changed' as const,
          },
        ],
  );
}

/** Returns the mark of a call whose changes are not those that its result or its task says. */
export function worldMarks(model: TrajectoryModel, span: ToolSpan): RowText['marks'] {
  const mark = worldMark(model, span);
  if (mark === undefined) return [];
  return mark.kind === 'unchanged'
    ? [{ text: 'changed nothing', title: 'The call succeeded but changed no row of the world', kind: 'plain' }]
    : [
        {
          text: '◆ not in the task',
          title: `The task does not touch these rows: ${mark.rows.join(', ')}`,
          kind: 'changed',
        },
      ];
}
