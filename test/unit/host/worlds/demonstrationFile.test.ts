/** The demonstrations that a user picked, in the text of a world file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SeenCall } from '../../../../src/config/simulation/recording.ts';
import { chosenTokens, withDemonstrations } from '../../../../src/host/worlds/demonstrations/demonstrationFile.ts';

const call = (seq: number, response = 'found'): SeenCall => ({
  seq,
  name: 'find',
  arguments: { id: seq },
  response,
  failed: false,
});
const WORLD = 'name: desk # the desk\nkind: simulated\n';
const written = (calls: readonly SeenCall[], chosen: readonly number[], text = WORLD): string | undefined =>
  withDemonstrations(text, { recorded: 'r1', calls, chosen: new Set(chosen) });

test('calls that would be picked anyway are not listed; comments stay, and earlier demonstrations go', () => {
  const calls = [call(10), call(20)];
  assert.equal(written(calls, [10, 20]), `${WORLD}demonstrations: { recorded: r1 }\n`);
  const chosen = `${WORLD}demonstrations: { recorded: r1, calls: [ 10 ] }\n`;
  assert.equal(written(calls, [10]), chosen);
  assert.equal(written(calls, [10], `${WORLD}demonstrations: old.md\n`), chosen);
});

test('a choice beyond the usual budget raises it', () => {
  const calls = [call(10, 'x'.repeat(20_000)), call(20)];
  assert.ok(chosenTokens({ calls, chosen: new Set([10]) }) > 5_000);
  assert.match(written(calls, [20, 10]) ?? '', /calls: \[ 10, 20 \], tokens: 6000 \}/);
});

test('a file with syntax errors is left alone', () => {
  assert.equal(written([call(10)], [10], 'kind: ['), undefined);
});
