import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { Stream } from '../../../test/support/stream.ts';

/** A rollout in a recorded world: two answers of a rollout, one of a file, and a call that is not in the recording. */
export function inRecordedWorld(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'desk-recorded', kind: 'recorded', seed: 7 });
  s.message('user', 'Renew the loans of Ada Byron.');
  const call = (id: string, name: string, args: JsonObject, response: Json, end: Partial<EventData['tool.end']>) => {
    s.model('', [{ id, name, arguments: args }]);
    const span = s.toolStart(id, name, args);
    const m = s.message('tool', [{ type: 'tool_call_response', id, response }], 'tool', { span });
    const status = end.error === undefined ? 'ok' : 'error';
    s.add('tool.end', { status, m, ms: 0.2, source: 'live', ...end }, { span });
  };
  const recorded = (rollout: string, seq: number) => ({ source: 'recorded' as const, recorded: { rollout, seq } });
  const loans = [17, 18].map((loan) => ({ loan_id: loan, due: '2026-05-08' }));
  call('c1', 'list_loans', { member: 'M-204' }, loans, recorded('r0k2v9s8d7a1b2c3d4', 12));
  call('c2', 'renew_loan', { loan_id: 17 }, 'Error (tool_error): limit reached', {
    ...recorded('r0k2v9s8d7a1b2c3d5', 18),
    error: { class: 'tool_error', message: 'limit reached' },
  });
  call('c3', 'find_member', { name: 'Ada' }, { id: 'M-204' }, recorded('tau.json/7/1', 9));
  const message =
    'This call is not in the recording: no attempt called renew_loan with these arguments after these calls.';
  call('c4', 'renew_loan', { loan_id: 99 }, `Error (tool_error): ${message}`, {
    error: { class: 'tool_error', message },
  });
  s.model('Only loan 18 can be renewed.');
  s.end({ passed: false, reward: 0 });
  return s.events;
}
