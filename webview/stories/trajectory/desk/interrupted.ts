/** A rollout that loses its worker twice. */
import type { EventData, TraceEvent } from '../../../../src/trace/schema.ts';
import { withTimes } from '../times.ts';
import { beginning } from './steps.ts';

/**
 * Three sequential calls of a world, the last of them held; a worker that is lost during a model call, and the next one
 * during a tool call; and a call that fails.
 */
export function interruptedDesk(): TraceEvent[] {
  const s = beginning();
  /** Delays all events from `seq` on. */
  const delays: { readonly seq: number; readonly ms: number }[] = [];
  const wait = (ms: number): void => void delays.push({ seq: s.last + 1, ms });
  const openWorld = (): number => s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  const resume = (
    epoch: number,
    lost: readonly (readonly ['model.end' | 'tool.end' | 'world.close', number])[],
  ): void => {
    wait(900);
    s.add('rollout.lease', { epoch, worker: `pod-0${6 + epoch}`, how: 'resumed' });
    const error = { class: 'infrastructure', message: 'Its worker was lost.' } as const;
    for (const [kind, span] of lost)
      s.add(
        kind,
        {
          ...(kind === 'world.close' ? {} : { status: 'error', source: 'live', trainable: false }),
          error,
        } as EventData[typeof kind],
        { span, ...(kind === 'world.close' ? {} : { agent: 'desk' }) },
      );
  };
  let world = s.events.find(({ kind }) => kind === 'world.open')?.seq ?? 0;
  s.model(
    'I will check the late loans.',
    [17, 18, 23].map((id) => ({ id: `look${id}`, name: 'get_loan', arguments: { loan_id: id } })),
    { agent: 'desk', ms: 900 },
  );
  const lookups = [17, 18, 23].map((id) => ({
    id,
    span: s.toolStart(`look${id}`, 'get_loan', { loan_id: id }, { agent: 'desk' }),
  }));
  for (const [index, { id, span }] of lookups.entries()) {
    wait(400);
    if (index === 2) {
      s.add('hold', { why: 'breakpoint', breakpoint: 'page.tool.get_loan', side: 'before' }, { span, agent: 'desk' });
      wait(1_600);
      s.add('release', { how: 'continue', held_ms: 1_600 }, { span, agent: 'desk' });
      wait(350);
    }
    s.toolEnd(span, `look${id}`, { id, due: '2026-05-01' }, { agent: 'desk', ms: 390 });
  }
  const call = s.add('model.start', { step: 4, model: 'demo', context: [], sampling: {} }, { agent: 'desk' });
  resume(2, [
    ['model.end', call],
    ['world.close', world],
  ]);
  world = openWorld();
  s.model('I will renew the first.', [{ id: 'renew', name: 'renew_loan', arguments: { loan_id: 17, days: 14 } }], {
    agent: 'desk',
    ms: 700,
  });
  const renew = s.toolStart('renew', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  resume(3, [
    ['tool.end', renew],
    ['world.close', world],
  ]);
  world = openWorld();
  const renewed = s.toolStart('renew', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  s.toolEnd(renewed, 'renew', 'limit reached', {
    agent: 'desk',
    ms: 420,
    error: { class: 'tool_error', message: 'limit reached: 3 of 3 renewals' },
  });
  s.model('It cannot be renewed again.', [], { agent: 'desk', ms: 800 });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    explanation: 'loan 17 is due 2026-05-01, expected 2026-05-15 or later',
  });
  s.add('world.close', { ms: 4 }, { span: world });
  s.end({ passed: false, reward: 0 });
  return withTimes(s.events).map((event) => ({
    ...event,
    at: event.at + delays.reduce((sum, { seq, ms }) => sum + (seq <= event.seq ? ms : 0), 0),
  }));
}
