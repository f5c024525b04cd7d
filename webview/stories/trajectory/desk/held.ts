/** Rollouts that wait for a person. */
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import type { Stream } from '../../../../test/support/stream.ts';
import { withTimes } from '../times.ts';
import { beginning, step } from './steps.ts';

/** Held before its second renewal, for `ago` ms. */
export function heldDesk(ago: number): TraceEvent[] {
  return untilHeld(ago).events;
}

/** The same rollout after the renewal ran. */
export function ranDesk(): TraceEvent[] {
  const { s, span } = untilHeld(0);
  s.add('release', { how: 'continue', held_ms: 42_000 });
  s.toolEnd(span, 'again', { ok: false, due: '2026-05-08', reason: 'limit reached' }, { agent: 'desk' });
  s.model('It cannot be renewed again.', [], { agent: 'desk' });
  s.end({ passed: false, reward: 0 });
  return withTimes(s.events);
}

function untilHeld(ago: number): { readonly s: Stream; readonly span: number; readonly events: TraceEvent[] } {
  const s = beginning();
  step(
    s,
    '',
    [{ name: 'renew_loan', args: { loan_id: 17, days: 7 }, result: { ok: true, due: '2026-05-08' }, tries: 0 }],
    { queue: 400 },
  );
  s.add('hold', { why: 'pause', side: 'before' });
  s.add('release', { how: 'continue', held_ms: 2_000 });
  s.model('Once more.', [{ id: 'again', name: 'renew_loan', arguments: { loan_id: 17, days: 14 } }], {
    agent: 'desk',
    ms: 1_400,
  });
  const span = s.toolStart('again', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  s.add('hold', { why: 'breakpoint', breakpoint: 'page.tool.renew_loan', side: 'before' }, { span, agent: 'desk' });
  const release = s.events.find((event) => event.kind === 'release')?.seq ?? 0;
  // Insert the duration of the first hold.
  const events = withTimes(s.events, { ago }).map((event) =>
    event.seq < release ? { ...event, at: event.at - 2_000 } : event,
  );
  return { s, span, events };
}

/** Has called `ask_person` and waits for the answer. */
export function askingDesk(ago: number): TraceEvent[] {
  const s = beginning();
  s.model(
    'I need to ask.',
    [
      {
        id: 'ask',
        name: 'ask_person',
        arguments: { question: 'Loan 17 was renewed three times. May I renew it again?' },
      },
    ],
    { agent: 'desk', ms: 1_400 },
  );
  const span = s.toolStart(
    'ask',
    'ask_person',
    { question: 'Loan 17 was renewed three times. May I renew it again?' },
    { agent: 'desk' },
  );
  s.add('hold', { why: 'input', side: 'before' }, { span, agent: 'desk' });
  return withTimes(s.events, { ago });
}
