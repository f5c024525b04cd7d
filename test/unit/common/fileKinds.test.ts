import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileGlob, fileKind, filePattern } from '../../../src/common/fileKinds.ts';
import { AGENT_FILE, BATCH_FILE, TOOL_FILE } from '../../../src/host/contributions/keys.ts';

test('the name of a file determines its kind', () => {
  assert.deepEqual(
    ['a/desk.agent.yaml', 'desk.batch.yml', 'Desk.World.JSON', 'agent.yaml', 'desk.agent.yaml.bak'].map(fileKind),
    ['agent', 'batch', 'world', undefined, undefined],
  );
  assert.equal(fileGlob('world'), '**/*.world.{yaml,yml,json}');
  assert.match('desk.world.yml', new RegExp(filePattern('agent', 'world')));
});

test('menus appear for the same names that `check` reads', () => {
  const pattern = (clause: string): RegExp => new RegExp(/=~ \/(.*)\/$/.exec(clause)?.[1] ?? 'none');
  for (const ending of ['yaml', 'yml', 'json']) {
    assert.match(`desk.batch.${ending}`, pattern(BATCH_FILE));
    assert.match(`desk.agent.${ending}`, pattern(AGENT_FILE));
    assert.match(`library.world.${ending}`, pattern(TOOL_FILE));
  }
  assert.match('tools/loans.mts', pattern(TOOL_FILE));
  assert.doesNotMatch('desk.batch.yaml', pattern(TOOL_FILE));
});
