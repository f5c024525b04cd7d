/** An agent that looks ahead in a world that a model plays, and a world that does not always do what it must. */
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Stream } from '../../../test/support/stream.ts';

const LOAN = { loan_id: 'L-3001', title: 'The Salt Road', due: '2026-05-08', renewals: 0 };
const RENEWED = { ...LOAN, due: '2026-05-22', renewals: 1 };

/**
 * A read, a foreseen refusal, a foreseen success, a renewal that the next list has forgotten, and one that it shows.
 */
export function lookahead(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'library-sim', kind: 'simulated', seed: 7 });
  s.message('user', 'Renew the loan L-3001 of Ada Byron if that is possible.');
  let calls = 0;
  const call = (name: string, args: JsonObject, response: Json, side = 'world'): void => {
    const id = `c${++calls}`;
    s.model('', [{ id, name, arguments: args }]);
    const span = s.toolStart(id, name, args);
    s.side(side, `You are the environment.\n${name} ${JSON.stringify(args)}`, JSON.stringify(response), {
      parent: span,
    });
    s.toolEnd(span, id, response, { source: side === 'lookahead' ? 'predicted' : 'simulated', ms: 640 });
  };
  const ahead = (loan: string, response: Json): void =>
    call('predict', { tool: 'renew_loan', arguments: { loan_id: loan } }, response, 'lookahead');
  call('list_loans', { member_id: 'M-1204' }, [LOAN]);
  ahead('L-3016', 'Error (tool_error): limit reached');
  ahead('L-3001', RENEWED);
  call('renew_loan', { loan_id: 'L-3001' }, RENEWED);
  call('list_loans', { member_id: 'M-1204' }, [LOAN]);
  call('list_loans', { member_id: 'M-1204' }, [RENEWED]);
  s.model('It is renewed until 2026-05-22.');
  s.end();
  return s.events;
}
