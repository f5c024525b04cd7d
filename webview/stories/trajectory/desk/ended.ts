/** A failed and a passed rollout of the same task. */
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import type { Stream } from '../../../../test/support/stream.ts';
import { withTimes } from '../times.ts';
import { beginning, step } from './steps.ts';

/** Adds a call of another agent that runs twice. */
function addSearch(s: Stream): void {
  const args = { question: 'Is anyone waiting for 17 or 23?' };
  s.model('The searcher knows who waits.', [{ id: 'ask', name: 'searcher', arguments: args }], {
    agent: 'desk',
    ms: 900,
  });
  const call = s.toolStart('ask', 'searcher', args, { agent: 'desk' });
  for (const [n, loan] of [17, 23].entries()) {
    const agent = `desk/searcher#${n + 1}`;
    const span = s.add('agent.start', { how: 'team' }, { agent, parent: call });
    step(s, `Who waits for ${loan}?`, [{ name: 'holds_of', args: { loan_id: loan }, result: [], ms: 300 }], {
      agent,
      ms: 700,
    });
    step(s, 'Nobody.', [], { agent, ms: 500 });
    s.add('agent.end', { status: 'ok', ms: 1_600 }, { agent, span });
  }
  s.toolEnd(call, 'ask', 'Nobody waits for either.', { agent: 'desk', ms: 3_300 });
}

/** Repeats a renewal that was refused, and fails. */
export function failedDesk(): TraceEvent[] {
  const s = beginning();
  addSearch(s);
  step(
    s,
    '',
    [{ name: 'renew_loan', args: { loan_id: 17, days: 7 }, result: { ok: true, due: '2026-05-08' }, tries: 0 }],
    { queue: 700, ms: 1_900 },
  );
  step(
    s,
    'Loan 17 must reach mid-May, too, so I will renew it again.',
    [
      { name: 'renew_loan', args: { loan_id: 23, days: 14 }, result: { ok: true, due: '2026-05-12' } },
      {
        name: 'renew_loan',
        args: { loan_id: 17, days: 14 },
        result: { ok: false },
        error: 'limit reached: 3 of 3 renewals',
        tries: 1,
        ms: 12,
      },
    ],
    { ms: 2_400, queue: 1_300 },
  );
  step(s, '', [{ name: 'pay_fine', args: { member_id: 204, amount: 2.4 }, result: 'paid', ms: 900 }]);
  for (let i = 0; i < 4; i++)
    step(
      s,
      '',
      [
        {
          name: 'renew_loan',
          args: { loan_id: 17, days: 7 },
          result: { ok: false },
          error: 'limit reached: 3 of 3 renewals',
          ms: 15,
        },
      ],
      { ms: 800 },
    );
  for (let i = 0; i < 3; i++)
    step(
      s,
      '',
      [
        {
          name: 'loans_of',
          args: { member_id: 204 },
          result: [
            { id: 17, due: '2026-05-08' },
            { id: 23, due: '2026-05-12' },
          ],
          ms: 140,
        },
      ],
      { ms: 700 },
    );
  step(s, 'Both loans now run to mid-May.', [], { ms: 1_700 });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    explanation: 'loan 17 is due 2026-05-08, expected 2026-05-15 or later',
    parts: { loan_17: 0, loan_23: 1 },
  });
  s.end({
    passed: false,
    reward: 0,
    answer: 'Both loans now run to mid-May.',
    totals: {
      steps: 17,
      tool_calls: 15,
      input_tokens: 17_400,
      output_tokens: 812,
      cached_tokens: 9_000,
      ms: 21_400,
      held_ms: 0,
      cost: 0.0123,
    },
  });
  return withTimes(s.events);
}

/** Like `failedDesk`, but renews for two weeks at once, and passes. */
export function passedDesk(): TraceEvent[] {
  const s = beginning();
  addSearch(s);
  step(s, '', [{ name: 'renew_loan', args: { loan_id: 17, days: 14 }, result: { ok: true, due: '2026-05-15' } }]);
  step(s, 'Both are renewed.', []);
  s.add('score', { scorer: 'world', value: 1, passed: true });
  s.end({ answer: 'Both are renewed.' });
  return withTimes(s.events);
}
