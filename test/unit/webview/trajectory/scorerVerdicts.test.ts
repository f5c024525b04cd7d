// What the trajectory page says about later verdicts, and when an attempt can be labeled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { label, labelEntries } from '../../../../webview/trajectory/label.ts';
import type { TrajectorySession } from '../../../../webview/trajectory/session.ts';
import { verdictTexts } from '../../../../webview/verdicts/verdictTexts.ts';
import { aRow, failed } from '../batch/rows.ts';

const AT = new Date(2026, 10, 25, 14, 5).getTime();
const SCORE = { scorer: 'exact', version: '0123456789abcdef' };
const LABELED = { value: 1, passed: true, at: AT, by: 'ada' };

test('the reward comes first, then scorers with version, person, and time, then labels', () => {
  const { progress } = failed();
  const judge = { value: 0.8, passed: true, at: AT, version: 'fedcba9876543210', by: 'bo', run: 'r9' };
  const row = { progress: { ...progress, ended_at: AT - 60_000, verdicts: { 'person:ada': LABELED, judge } } };
  assert.deepEqual(verdictTexts(row, SCORE, AT), [
    {
      scorer: 'reward',
      name: 'reward',
      isPerson: false,
      outcome: 'failed',
      value: 0,
      details: ['by exact', 'version 01234567', '14:04'],
    },
    {
      scorer: 'judge',
      name: 'judge',
      isPerson: false,
      outcome: 'passed',
      value: 0.8,
      details: ['version fedcba98', 'by bo', '14:05'],
      run: 'r9',
    },
    { scorer: 'person:ada', name: 'ada', isPerson: true, outcome: 'passed', details: ['14:05'] },
  ]);
});

test('nothing is listed for a rollout that only the reward judges, or whose only label was withdrawn', () => {
  const { progress } = failed();
  assert.deepEqual(verdictTexts({ progress }, SCORE, AT), []);
  const withdrawn = { ...progress, verdicts: { 'person:ada': { ...LABELED, value: null, passed: null } } };
  assert.deepEqual(verdictTexts({ progress: withdrawn }, SCORE, AT), []);
  // A scorer that cannot decide is a verdict: it says that it was run.
  const undecided = { ...progress, verdicts: { judge: { value: null, passed: null, at: AT } } };
  assert.deepEqual(
    verdictTexts({ progress: undecided }, SCORE, AT).map(({ scorer, outcome }) => [scorer, outcome]),
    [
      ['reward', 'failed'],
      ['judge', 'unscored'],
    ],
  );
});

test('an ended attempt can be labeled, and a label withdrawn; others and read-only pages cannot', () => {
  const acts: unknown[] = [];
  const said: string[] = [];
  const session = (row = failed(), over: { readOnly?: boolean; can?: ReadonlySet<string> } = {}): TrajectorySession =>
    ({
      readOnly: false,
      can: new Set(['label']),
      debug: { refused: () => undefined },
      data: { rollout: 'r1', attempts: [row], info: undefined },
      act: (action: unknown) => void acts.push(action),
      say: (text: string) => void said.push(text),
      ...over,
    }) as unknown as TrajectorySession;
  const labels = (of: TrajectorySession): string[] => labelEntries(of).map((entry) => entry.label);
  assert.deepEqual(labels(session()), ['Label as Passed', 'Label as Failed']);
  const labeled = aRow({ progress: { ...failed().progress, verdicts: { 'person:ada': LABELED } } });
  assert.deepEqual(labels(session(labeled)), ['Label as Passed', 'Label as Failed', 'Withdraw My Label']);
  assert.deepEqual(labels(session(failed(), { readOnly: true })), []);
  assert.deepEqual(labels(session(failed(), { can: new Set() })), []);
  assert.deepEqual(labels(session(aRow({ state: 'running' }))), []);

  label(session(), true);
  labelEntries(session(labeled)).at(-1)?.onClick();
  label(session(failed(), { readOnly: true }), true);
  label(session(aRow({ state: 'running' })), false);
  assert.deepEqual(acts, [
    { do: 'label', rollout: 'r1', passed: true },
    { do: 'label', rollout: 'r1', passed: null },
  ]);
  assert.equal(said.length, 1);
});
