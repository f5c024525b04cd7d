import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { MCP_PROVIDER } from '../../../src/host/contributions/names.ts';
import { manifest } from '../../../src/host/contributions.ts';
import { mcpDefinitions } from '../../../src/host/mcp/definitions.ts';

const place = {
  target: 'local',
  store: 'postgres://me:secret@host/db',
  trusted: true,
  program: '/node',
  file: '/cli.mjs',
};

test('each folder has its server; the store is not an argument', () => {
  const folders = [path.resolve('one'), path.resolve('two')];
  const found = mcpDefinitions({ ...place, folders });
  assert.deepEqual(
    found.map(({ label }) => label),
    ['Rollout Studio (one)', 'Rollout Studio (two)'],
  );
  assert.deepEqual(found[1]?.args.slice(1), ['/cli.mjs', 'mcp', '--folder', folders[1]]);
  assert.equal(found[0]?.env['ROLLOUT_STORE'], place.store);
  assert.doesNotMatch(JSON.stringify(found.map(({ args }) => args)), /secret/);
  assert.deepEqual(
    mcpDefinitions({ ...place, folders: folders.slice(0, 1) }).map(({ label }) => label),
    ['Rollout Studio'],
  );
});

test('Restricted Mode has none', () => {
  assert.deepEqual(mcpDefinitions({ ...place, trusted: false, folders: ['/one'] }), []);
});

test('the manifest names the provider', () => {
  const { mcpServerDefinitionProviders: named } = manifest['contributes'] as {
    mcpServerDefinitionProviders: readonly { id: string }[];
  };
  assert.deepEqual(
    named.map(({ id }) => id),
    [MCP_PROVIDER],
  );
});
