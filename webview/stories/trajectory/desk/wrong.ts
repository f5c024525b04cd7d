/** A renewal for too few days, with the checks of its score, and an attempt of the same task that passed. */
import type { Check, TraceEvent } from '../../../../src/trace/schema.ts';
import { Stream } from '../../../../test/support/stream.ts';
import { withTimes } from '../times.ts';
import { step } from './steps.ts';

const LOAN = { id: 'L-3001', member_id: 'M-204', title: 'The Salt Road', due: '2026-05-08', renewals: 0 };

function beginning(): Stream {
  const s = new Stream();
  s.start({ task: 'renew-one' });
  s.add('rollout.lease', { epoch: 1, worker: 'pod-07', how: 'fresh' });
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message('system', 'You work at the lending desk of a town library.');
  s.message('user', 'Renew L-3001 for Anna Berg by two weeks.');
  step(s, '', [{ name: 'find_member', args: { name: 'Anna Berg' }, result: 'M-204', ms: 120 }], { ms: 700 });
  step(s, '', [{ name: 'list_loans', args: { member_id: 'M-204' }, result: [LOAN], ms: 130 }], { ms: 850 });
  return s;
}

/** The checks that the sample workspace's verifier would return. `more`: further failed checks, for long verdicts. */
function checks(answer: string, more: number): Check[] {
  return [
    {
      name: 'loans L-3001',
      passed: false,
      cause: 'loans: row not renewed',
      expected: { due: '2026-05-22', renewals: 1 },
      actual: { due: '2026-05-08', renewals: 0 },
      row: { table: 'loans', key: 'L-3001', before: LOAN },
    },
    { name: 'nothing else changed', passed: true, expected: [], actual: [] },
    ...Array.from(
      { length: more },
      (_, index): Check => ({
        name: `letter ${index + 1}`,
        passed: false,
        expected: `Dear Anna, your loan of The Salt Road is renewed until May 22. Desk ${index + 1}`,
        actual: `Dear Anna, your loan of The Salt Road cannot be renewed. Desk ${index + 1}`,
      }),
    ),
    { name: 'answer', passed: false, expected: 'L-3001 is renewed until May 22.', actual: answer },
  ];
}

/** Renews for one week, is refused, and answers as if it had worked. */
export function wrongDesk({ more = 0 }: { readonly more?: number } = {}): TraceEvent[] {
  const s = beginning();
  step(
    s,
    '',
    [
      {
        name: 'renew_loan',
        args: { loan_id: 'L-3001', days: 7 },
        result: 'refused',
        error: 'Renewals are for 14 days.',
        ms: 90,
      },
    ],
    { ms: 1_200 },
  );
  step(s, '', [{ name: 'list_loans', args: { member_id: 'M-204' }, result: [LOAN], ms: 120 }], { ms: 850 });
  const answer = 'L-3001 is renewed until May 15.';
  step(s, answer, [], { ms: 1_400 });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    checks: checks(answer, more),
    explanation: 'loans L-3001: due 2026-05-08, renewals 0, expected due 2026-05-22, renewals 1.',
  });
  s.end({
    passed: false,
    reward: 0,
    answer,
    totals: {
      steps: 5,
      tool_calls: 4,
      input_tokens: 7_600,
      output_tokens: 300,
      cached_tokens: 0,
      ms: 6_400,
      held_ms: 0,
    },
  });
  return withTimes(s.events);
}

/** Renews for two weeks at once. */
export function rightDesk(): TraceEvent[] {
  const s = beginning();
  step(s, '', [{ name: 'renew_loan', args: { loan_id: 'L-3001', days: 14 }, result: { due: '2026-05-22' }, ms: 90 }]);
  step(s, 'L-3001 is renewed until May 22.', []);
  s.add('score', { scorer: 'world', value: 1, passed: true });
  s.end({ answer: 'L-3001 is renewed until May 22.' });
  return withTimes(s.events);
}
