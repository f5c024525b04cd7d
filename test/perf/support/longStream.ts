/** One long trajectory. */
import { Stream } from '../../support/stream.ts';

/** Seven events a step: a model call, its message, a tool call, a change of the world. */
export function longStream(steps: number): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew everything overdue for Ada.');
  for (let step = 0; step < steps; step++) {
    s.model(`Step ${step}: ${'and so on '.repeat(30)}`, [
      { id: `c${step}`, name: `tool_${step % 7}`, arguments: { loan_id: step, days: 14 } },
    ]);
    const tool = s.toolStart(`c${step}`, `tool_${step % 7}`, { loan_id: step, days: 14 });
    s.diff([{ table: 'loans', key: step % 500, op: 'update', before: { n: step }, after: { n: step + 1 } }], tool);
    s.toolEnd(tool, `c${step}`, { ok: true, rows: [1, 2, 3], text: 'x'.repeat(200) });
  }
  return s;
}
