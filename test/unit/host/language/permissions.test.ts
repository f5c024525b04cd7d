import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueryPlace } from '../../../../src/config/queryPlaces.ts';
import { QueryPermissions } from '../../../../src/host/language/permissions.ts';
import { endpointPlace, serverPlace } from '../../../../src/language/facts/queryPlace.ts';
import { TestMemory } from '../../../support/testMemory.ts';

function server(command: string, ...args: string[]): QueryPlace {
  return serverPlace({ command, args }, '/w') ?? assert.fail('no place');
}

test('each content is asked for once, and decisions are kept', async () => {
  const memory = new TestMemory();
  const permissions = new QueryPermissions(memory);
  const [a, b] = [server('npx', 'a'), server('npx', 'b')];
  assert.deepEqual(permissions.add([a, b, a]), [a, b]);
  assert.deepEqual(permissions.allowed, []);
  await permissions.decide([a, b], [a]);
  assert.deepEqual([permissions.allowed, permissions.undecided], [[a.id], []]);
  // In the next window.
  const next = new QueryPermissions(memory);
  assert.deepEqual([next.add([a, b]), next.isAllowed(a), next.isAllowed(b)], [[], true, false]);
  // A changed command is another place.
  const changed = server('npx', 'a', '--evil');
  assert.deepEqual(next.add([changed]), [changed]);
  assert.equal(next.isAllowed(changed), false);
  await next.decide([a, b], [b]);
  assert.deepEqual(next.allowed, [b.id]);
});

test('a place is identified by all that would be started or sent', () => {
  const ids = [
    serverPlace({ command: 'x' }, '/w'),
    serverPlace({ command: 'x' }, '/v'),
    serverPlace({ command: 'x', cwd: 'y' }, '/w'),
    serverPlace({ command: 'x', env: { A: '1' } }, '/w'),
    serverPlace({ url: 'https://x' }, '/w'),
    serverPlace({ url: 'https://x', headers: { A: '1' } }, '/w'),
    endpointPlace({ endpoint: 'https://x' }),
    endpointPlace({ endpoint: 'https://x', apiKey: '${env:A}' }),
    endpointPlace({ endpoint: 'https://x', headers: { A: '1' } }),
  ].map((place) => place?.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(endpointPlace({ endpoint: 'https://x', apiKey: '${env:A}' })?.variables, ['A']);
});
