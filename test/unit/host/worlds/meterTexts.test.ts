/** How many calls fit in the context of a world's model, as the launch form and world files say it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShownMeter } from '../../../../src/host/worlds/contextMeters.ts';
import { meterChoices, meterHint, meterSummary } from '../../../../src/host/worlds/meterTexts.ts';

const UNKNOWN: ShownMeter = {
  turns: undefined,
  context: undefined,
  system: 1234,
  exact: false,
  turn: 600,
  measured: false,
  world: 'desk',
  file: 'worlds/desk.world.yaml',
  partial: false,
  text: '',
  asked: false,
};
const KNOWN: ShownMeter = { ...UNKNOWN, turns: 412, context: 262_144, exact: true, asked: true };

test('a meter says how many calls fit, and before the endpoint was asked, what is known without it', () => {
  assert.equal(meterSummary(KNOWN), 'About 412 calls fit in the context of 262,144 tokens');
  assert.equal(meterSummary({ ...KNOWN, turns: 1 }), 'About 1 call fits in the context of 262,144 tokens');
  assert.equal(meterHint(KNOWN), undefined);
  assert.equal(meterSummary(UNKNOWN), 'System prompt about 1,234 tokens, 600 per call');
  assert.equal(meterHint(UNKNOWN), 'Select to ask the endpoint how many calls fit.');
  assert.match(meterSummary({ ...UNKNOWN, asked: true }), /tokens, 600 per call\. The endpoint does not say how long/);
  assert.equal(meterHint({ ...UNKNOWN, asked: true }), 'Set `context` in the world file.');
});

test('a context for fewer calls than the agent may make is a warning that says what to do', () => {
  const tight = { ...KNOWN, turns: 12, steps: 30 };
  assert.equal(meterSummary(tight), 'About 12 calls fit, but the agent may make 30 steps');
  const [choice] = meterChoices([tight]);
  assert.equal(choice?.icon, 'warning');
  assert.match(choice.detail ?? '', /Shorten its state/);
  assert.deepEqual(
    meterChoices([KNOWN]).map(({ label, icon, detail }) => [label, icon, detail]),
    [['Context of desk', 'dashboard', undefined]],
  );
});
