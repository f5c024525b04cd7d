/** A rollout on a published scenario, whose whole tables are known at each step. */
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { Stream } from '../../../../test/support/stream.ts';
import { withTimes } from '../times.ts';

const TEMPLATE = 'd'.repeat(64);
export const SCENARIO = 'town_library';

/** Returns the events, and the template with this many loans. */
export function wholeTables(loans: number): {
  readonly events: TraceEvent[];
  readonly blobs: Readonly<Record<string, string>>;
} {
  const collections = {
    'loans.json': Array.from({ length: loans }, (_, i) => ({
      id: i,
      title: `The Salt Road, volume ${i}`,
      due: `2026-05-${String(1 + (i % 28)).padStart(2, '0')}`,
      note: i % 7 === 0 ? 'a long note of the desk about this loan, which does not fit into a column' : null,
    })),
    'members.json': [{ id: 204, name: 'Mina Okafor' }],
    'fines.json': [],
  };
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'towns', kind: 'code', scenario: SCENARIO, template: TEMPLATE, seed: 7 });
  s.message('user', 'Renew everything overdue for Mina Okafor.');
  s.model('', [{ id: 'renew', name: 'renew_loans', arguments: { member_id: 204 } }], { agent: 'desk' });
  const span = s.toolStart('renew', 'renew_loans', { member_id: 204 }, { agent: 'desk' });
  const loan = (id: number, due: string) => ({ ...collections['loans.json'][id], id, due });
  s.diff(
    [
      ...[2, 3].map((id) => ({
        ...{ table: 'loans.json', key: id, op: 'update' as const },
        ...{ before: loan(id, `2026-05-0${id + 1}`), after: loan(id, '2026-06-01') },
      })),
      { table: 'loans.json', key: 5, op: 'delete', before: loan(5, '2026-05-06') },
      { table: 'loans.json', key: loans + 1, op: 'insert', after: { ...loan(1, '2026-06-04'), id: loans + 1 } },
      { table: 'log.json', key: 0, op: 'insert', after: { text: 'renewed' } },
    ],
    span,
  );
  s.toolEnd(span, 'renew', { renewed: 2 }, { agent: 'desk', ms: 240 });
  s.end();
  return { events: withTimes(s.events), blobs: { [TEMPLATE]: btoa(JSON.stringify(collections)) } };
}
