/** Rollouts with many tokens and many changes. */
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { withTimes } from '../times.ts';
import { beginning, step } from './steps.ts';

/** Captured token IDs and logprobs: events, and the blob with the record. */
export function sampledTokens(
  tokens: number,
  { logprobs = true, sha = 'a'.repeat(64) }: { readonly logprobs?: boolean; readonly sha?: string } = {},
): { readonly events: TraceEvent[]; readonly blobs: Readonly<Record<string, string>> } {
  const ids = Array.from({ length: tokens }, (_, i) => 200 + ((i * 7919) % 31_000));
  const logprobValues = new Float32Array(ids.map((_, i) => -Math.max(0, Math.sin(i * 1.7) ** 8 * 3 - 0.2)));
  const bytes = new Uint8Array(logprobValues.buffer);
  const record = {
    prompt: { ids: Array.from({ length: 3_912 }, (_, i) => i) },
    completion: ids,
    ...(logprobs ? { logprobs: btoa(String.fromCharCode(...bytes)) } : {}),
  };
  const s = beginning();
  step(
    s,
    'Loan 17 is nine days late and 23 is six. Nobody waits for either, so both can be renewed. I will start with 17.',
    [{ name: 'renew_loan', args: { loan_id: 17, days: 7 }, result: { ok: true, due: '2026-05-08' } }],
    { tokens: { $blob: sha, bytes: 1, media: 'application/json', head: '' } },
  );
  const end = s.events.findLast((event) => event.kind === 'model.end');
  if (end?.kind === 'model.end')
    Object.assign(end.data, {
      usage: { input_tokens: 3_912, output_tokens: tokens, cached_tokens: 3_584 },
      weights: 'w118',
    });
  s.end();
  return { events: withTimes(s.events), blobs: { [sha]: btoa(JSON.stringify(record)) } };
}

/** Two calls. The prompt of the second does not begin with all tokens of the first, which made a tool call. */
export function splitTokens(): { readonly events: TraceEvent[]; readonly blobs: Readonly<Record<string, string>> } {
  const [first, second] = ['b'.repeat(64), 'c'.repeat(64)];
  const ref = ($blob: string) => ({ tokens: { $blob, bytes: 1, media: 'application/json', head: '' } });
  const ids = (length: number, from: number): number[] => Array.from({ length }, (_, i) => from + i * 3);
  const s = beginning();
  const renew = (loan: number) => [{ name: 'renew_loan', args: { loan_id: loan, days: 7 }, result: { ok: true } }];
  step(s, 'I will start with 17.', renew(17), ref(first));
  step(s, 'Now 23.', renew(23), ref(second));
  const end = s.events.findLast((event) => event.kind === 'model.end');
  if (end?.kind === 'model.end')
    end.data.drift = { at: 92, was: { id: 936, text: ' "' }, is: { id: 2_000, text: '"' } };
  const starts = s.events.filter(({ kind }) => kind === 'model.start');
  s.end();
  const records = {
    [first]: { prompt: { ids: ids(80, 100) }, completion: ids(24, 900) },
    [second]: { prompt: { of: starts.at(-2)?.seq, keep: 92, ids: ids(30, 2_000) }, completion: ids(20, 3_000) },
  };
  return {
    events: withTimes(s.events),
    blobs: Object.fromEntries(Object.entries(records).map(([sha, record]) => [sha, btoa(JSON.stringify(record))])),
  };
}

/** A call that changes many rows of two tables, and a file. */
export function manyChanges(rows: number): TraceEvent[] {
  const s = beginning();
  s.model('I will move all of them.', [{ id: 'move', name: 'move_shelf', arguments: { from: 'A', to: 'B' } }], {
    agent: 'desk',
  });
  const span = s.toolStart('move', 'move_shelf', { from: 'A', to: 'B' }, { agent: 'desk' });
  s.diff(
    [
      ...Array.from({ length: rows }, (_, i) => ({
        table: 'copies',
        key: i,
        op: 'update' as const,
        before: { title: `Book ${i}`, branch: 'Main', shelf: 'A', seen: '09:41:12' },
        after: { title: `Book ${i}`, branch: 'Main', shelf: 'B', seen: '09:41:15' },
      })),
      {
        table: 'shelves',
        key: 'A',
        op: 'delete',
        before: { name: 'A', room: 'reading room with a name that is much too long for a column of a table' },
      },
      { table: 'shelves', key: 'B', op: 'insert', after: { name: 'B', room: 'hall' } },
      { file: 'notes/moves.md', key: 'notes/moves.md', op: 'update', before: 'A: 12\n', after: 'A: 0\nB: 12\n' },
    ],
    span,
  );
  s.toolEnd(span, 'move', { moved: rows }, { agent: 'desk', ms: 240 });
  s.end();
  return withTimes(s.events);
}
