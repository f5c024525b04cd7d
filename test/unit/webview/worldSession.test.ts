/** The state of a World page: what it requests, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DriveMessage } from '../../../src/protocol/drive.ts';
import type { TriedCall } from '../../../src/protocol/tryPage.ts';
import type { PageToWorld, WorldToPage } from '../../../src/protocol/worldPage.ts';
import { HEALTH, WORLD } from '../../../webview/stories/world/sampleWorld.ts';
import { WorldSession } from '../../../webview/world/page/worldSession.ts';

function opened(): { session: WorldSession; receive: (message: WorldToPage) => void; posted: PageToWorld[] } {
  const posted: PageToWorld[] = [];
  let receive: (data: unknown) => void = () => undefined;
  const session = new WorldSession({
    post: (message) => posted.push(message),
    listen: (listener) => {
      receive = listener;
    },
  });
  receive({ type: 'world', details: WORLD });
  return { session, receive, posted };
}

test('a page that was checked is checked again when its files change, and keeps the findings meanwhile', () => {
  const { session, receive, posted } = opened();
  const checks = (): number => posted.filter(({ type }) => type === 'check').length;
  receive({ type: 'world', details: WORLD });
  assert.equal(checks(), 0, 'nothing runs before the first check');
  session.check();
  receive({ type: 'health', health: HEALTH, at: 1 });
  receive({ type: 'world', details: WORLD });
  assert.deepEqual([checks(), session.isChecking, session.health?.at], [2, true, 1]);
  receive({ type: 'health', health: { ...HEALTH, findings: [] }, at: 2 });
  assert.deepEqual([session.isChecking, session.health?.health.findings], [false, []]);
});

test('the next request hides why the one before it failed', () => {
  const { session, receive } = opened();
  receive({ type: 'problem', text: 'worlds/rooms exists already.', hint: 'Rename it.' });
  assert.equal(session.problem?.text, 'worlds/rooms exists already.');
  session.post({ type: 'worldFile' });
  assert.equal(session.problem, undefined);
});

test('a state that is returned to shows what the call that led to it changed', () => {
  const { session, receive } = opened();
  const { drive } = session;
  const call = (rows: number): TriedCall => ({
    ...{ status: 'ok', ms: 1, log: '' },
    changes: Array.from({ length: rows }, (_, key) => ({ table: 'loans', key, op: 'insert' as const, after: {} })),
  });
  const states = [
    { state: 0, rows: 0 },
    { state: 1, parent: 0, tool: 'find', rows: 0 },
    { state: 2, parent: 1, tool: 'renew', rows: 1 },
  ];
  const rows = (): number | undefined => drive.last?.changes?.length;
  const message = (driven: DriveMessage): void => receive({ type: 'drive', message: driven });
  message({
    ...{ type: 'opened', world: 'library', task: 'renew-one', question: '', seed: 1 },
    ...{ canVerify: true, canSnapshot: true, tools: [] },
  });
  message({ type: 'called', id: 1, state: 1, states: states.slice(0, 2), call: call(0) });
  message({ type: 'called', id: 2, state: 2, states, call: call(1) });
  assert.equal(rows(), 1);
  message({ type: 'at', id: 3, state: 1, states });
  assert.equal(rows(), 0);
  message({ type: 'at', id: 4, state: 0, states });
  assert.equal(rows(), undefined);
  message({ type: 'called', id: 5, state: 0, states, call: { ...call(0), status: 'error' } });
  assert.equal(drive.last?.status, 'error', 'a failed call leads to no state');
  message({ type: 'at', id: 6, state: 2, states });
  assert.equal(rows(), 1);
});
