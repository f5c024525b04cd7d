/** The state of a World page: what it requests, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
