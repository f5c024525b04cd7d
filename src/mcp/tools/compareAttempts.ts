import { z } from 'zod';
import { oneLine, plural } from '../../common/text.ts';
import { outcomeOf } from '../../trace/outcome.ts';
import { scoreText } from '../../trace/text/score.ts';
import { valueText } from '../../trace/text/values.ts';
import { Room } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { CURSOR, NEXT, outcome } from '../answers/shapes.ts';
import { type OpenedAttempt, openAttempt } from '../reading/attempt.ts';
import { compare, type Row, rowShape, type Turn, turnOf, turnShape } from '../reading/comparison.ts';
import { defineTool } from '../tool.ts';

const MAX_TEXT = 600;
const places = cursor('compare_attempts', z.number().int().min(0));

const side = z.object({
  reference: z.string(),
  outcome,
  reward: z.number().nullable(),
  steps: z.number().int(),
  calls: z.number().int(),
  answer: z.string().optional(),
  scored: z.string().optional().describe('The explanation of the scorer'),
});

export const compareAttempts = defineTool({
  name: 'compare_attempts',
  title: 'Compare two attempts',
  description:
    'Shows where two attempts diverge and rejoin: the number of model turns at the start with the same tool calls, ' +
    'the first differing turns, and both attempts aligned from there, with differing arguments and results. Most ' +
    'useful for a passed and a failed attempt of the same task.',
  input: z.strictObject({
    a: z.string().describe('BATCH/TASK/ATTEMPT or a rollout ID'),
    b: z.string().describe('The other attempt'),
    cursor: CURSOR,
  }),
  output: z.object({
    same: z.boolean().describe('Whether both made the same calls from start to end'),
    common: z.number().int().describe('Number of turns at the start with the same calls'),
    alike: z.number().describe('Matching turns divided by the turns of the longer attempt; 1 = identical'),
    other_result_at: z
      .number()
      .int()
      .optional()
      .describe('The first step of `a` among the common turns whose results differ in `b`'),
    a: side,
    b: side,
    differs: z
      .object({ a: turnShape.optional(), b: turnShape.optional() })
      .optional()
      .describe('The first differing turns; one is absent if its attempt had ended'),
    rejoin: z
      .object({ a: z.number().int(), b: z.number().int() })
      .optional()
      .describe('Steps where the attempts rejoin'),
    rows: z.array(rowShape).describe('Aligned turns from the first difference'),
    next_cursor: NEXT,
  }),
  effect: 'read',
  async run({ a: first, b: second, cursor: position }, call) {
    const [a, b] = await Promise.all([openAttempt(first, call), openAttempt(second, call)]);
    const { split, common, otherResult, rows: count, row } = compare(a.model, b.model);
    const data = {
      same: split === undefined,
      common,
      alike: split?.alike ?? 1,
      ...(otherResult === undefined ? {} : { other_result_at: otherResult }),
      a: sideOf(a),
      b: sideOf(b),
      ...(split === undefined
        ? {}
        : {
            differs: {
              ...(split.a === undefined ? {} : { a: turnOf(split.a) }),
              ...(split.b === undefined ? {} : { b: turnOf(split.b) }),
            },
          }),
      ...(split?.rejoin === undefined ? {} : { rejoin: { a: split.rejoin.a.step, b: split.rejoin.b.step } }),
    };
    const room = new Room();
    room.take(data);
    const rows: Row[] = [];
    let index = position === undefined ? common : places.read(position);
    for (; index < count; index++) {
      const one = row(index);
      if (!room.take(one)) break;
      rows.push(one);
    }
    const next = index < count ? places.write(index) : undefined;
    const lines = [
      sideText('a', data.a),
      sideText('b', data.b),
      '',
      split === undefined
        ? `Both made the same calls in all of ${plural(common, 'turn')}.`
        : `Both made the same calls in the first ${plural(common, 'turn')}. Then:`,
      ...(otherResult === undefined ? [] : [`Before that, the calls of step ${otherResult} had different results.`]),
      ...rows.flatMap((one) => [
        '',
        one.what,
        ...turnLines('a', one.a),
        ...turnLines('b', one.b),
        ...one.differences.map((text) => `   ≠ ${text}`),
      ]),
      ...(data.rejoin === undefined
        ? []
        : ['', `They rejoin at step ${data.rejoin.a} of a and step ${data.rejoin.b} of b.`]),
      ...(next === undefined ? [] : ['', `Next page: cursor ${next}`]),
    ];
    return { data: { ...data, rows, ...(next === undefined ? {} : { next_cursor: next }) }, text: lines.join('\n') };
  },
});

function sideOf({ model, info, reference }: OpenedAttempt): z.infer<typeof side> {
  const answer = model.end?.data.answer;
  const scored = model.scores.flatMap(({ data }) => data.explanation ?? []).at(-1);
  return {
    reference,
    outcome: outcomeOf(info.row),
    reward: info.row.progress.reward ?? null,
    steps: model.steps.length - 1,
    calls: model.tools.length,
    ...(answer === undefined || answer === null ? {} : { answer: oneLine(valueText(answer), MAX_TEXT) }),
    ...(scored === undefined ? {} : { scored: oneLine(scored, MAX_TEXT) }),
  };
}

function sideText(name: string, one: z.infer<typeof side>): string {
  const facts = [
    `${name}  ${one.reference}`,
    one.outcome,
    ...(one.reward === null ? [] : [`reward ${scoreText(one.reward)}`]),
    plural(one.steps, 'step'),
    plural(one.calls, 'call'),
  ];
  const details = [
    ['answer', one.answer],
    ['scored', one.scored],
  ].flatMap(([label, text]) => (text === undefined ? [] : [`   ${label}: ${text}`]));
  return [facts.join(' · '), ...details].join('\n');
}

function turnLines(name: string, turn: Turn | undefined): string[] {
  if (turn === undefined) return [];
  const who = turn.agent === undefined ? '' : ` ${turn.agent}`;
  return [
    `${name}  step ${turn.step}${who}${turn.text === undefined ? '' : `: ${turn.text}`}`,
    ...turn.calls.map((text) => `   → ${text}`),
  ];
}
