// What the language server knows about the world outside the files.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import type { QueryPlace } from '../../../src/config/queryPlaces.ts';
import { LiveFacts } from '../../../src/language/facts/liveFacts.ts';
import type { McpServerRef } from '../../../src/language/workspace/facts.ts';
import { outboundRequest } from '../../../src/net/outboundRequest.ts';

function facts(reads: string[] = []): LiveFacts {
  return new LiveFacts({
    env: { PATH: '/bin' },
    request: outboundRequest,
    listTools: () => Promise.reject(new Error('no server is queried')),
    builtinTools: (set) => {
      reads.push(set);
      return Promise.resolve([{ name: 'calculate' }]);
    },
    worldProblems: (file) => {
      reads.push(file);
      return Promise.resolve([]);
    },
  });
}

it(
  'variables are those of the environment and those the editor keeps; in Restricted Mode they are never ' + 'revealed',
  () => {
    const live = facts();
    live.configure({ trusted: true, askEndpoints: true, allowedPlaces: 'all', keptNames: ['KEY', 'PATH'] });
    assert.deepEqual(live.envNames(), ['KEY', 'PATH']);
    live.configure({ trusted: false, askEndpoints: true, allowedPlaces: 'all', keptNames: ['KEY'] });
    assert.deepEqual(live.envNames(), []);
    live.dispose();
  },
);

it('settings of built-in tools are read once, in Restricted Mode too, and reported when ready', async () => {
  const reads: string[] = [];
  const live = facts(reads);
  const ready = new Promise<void>((resolve) => {
    live.changed(() => resolve());
  });
  assert.equal(live.builtinTools('calculator'), undefined);
  await ready;
  assert.deepEqual(live.builtinTools('calculator'), [{ name: 'calculate' }]);
  assert.deepEqual(reads, ['calculator']);
  live.dispose();
});

it('worlds are linted again when their files change, but not in Restricted Mode', async () => {
  const reads: string[] = [];
  const live = facts(reads);
  assert.equal(live.worldProblems('garden.world.yaml', '1'), undefined);
  live.configure({ trusted: true, askEndpoints: false, allowedPlaces: [], keptNames: [] });
  for (const stamp of ['1', '2']) {
    const ready = new Promise<void>((resolve) => {
      live.changed(() => resolve());
    });
    assert.equal(live.worldProblems('garden.world.yaml', stamp), undefined);
    await ready;
    assert.deepEqual(live.worldProblems('garden.world.yaml', stamp), []);
  }
  assert.deepEqual(reads, ['garden.world.yaml', 'garden.world.yaml']);
  live.dispose();
});

it('nothing is started or sent before the user allows it, and values go only into keys and headers', async () => {
  const sent: string[] = [];
  const endpoint = createServer((request, response) => {
    sent.push(`${request.url} ${request.headers.authorization} ${request.headers.host}`);
    response.end(JSON.stringify({ data: [{ id: 'm' }] }));
  });
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
  const started: McpServerRef[] = [];
  const live = new LiveFacts({
    env: { KEY: 'secret' },
    request: outboundRequest,
    listTools: (ref) => {
      started.push(ref);
      return Promise.resolve([{ name: 'echo' }]);
    },
    builtinTools: () => Promise.resolve([]),
    worldProblems: () => Promise.resolve([]),
  });
  const named: QueryPlace[] = [];
  live.placeNamed((place) => named.push(place));
  const settings = { trusted: true, askEndpoints: true, keptNames: [] };
  const model = { endpoint: url, apiKey: '${env:KEY}' };
  const server = { command: 'run', args: ['it'], env: { KEY: '${env:KEY}' } };
  /** Values in hosts, paths, and commands are never inserted. */
  const query = (): unknown[] => [
    live.models(model, true),
    live.mcpTools(server, '/w', true),
    live.models({ endpoint: `${url}/\${env:KEY}` }, true),
    live.models({ endpoint: 'http://${env:KEY}.127.0.0.1.nip.example' }, true),
    live.mcpTools({ command: 'run', args: ['${env:KEY}'] }, '/w', true),
    live.mcpTools({ url: `${url}?\${env:KEY}` }, '/w', true),
    live.tokens({ endpoint: `${url}/\${env:KEY}` }, 'm', 'text'),
  ];
  try {
    live.configure({ ...settings, allowedPlaces: [] });
    live.models({ endpoint: `${url}/unsaved` }, false);
    for (let times = 0; times < 2; times++)
      assert.deepEqual(
        query(),
        Array.from({ length: 7 }, () => undefined),
      );
    assert.deepEqual(
      named.map(({ kind, title, variables }) => [kind, title, ...variables]),
      [
        ['endpoint', url, 'KEY'],
        ['command', 'run it', 'KEY'],
      ],
    );
    live.configure({ ...settings, allowedPlaces: named.map(({ id }) => id) });
    let answered = 0;
    const both = new Promise<void>((resolve) => {
      live.changed(() => {
        if (++answered === 2) resolve();
      });
    });
    query();
    await both;
    assert.deepEqual(query().slice(0, 3), [['m'], [{ name: 'echo' }], undefined]);
    assert.deepEqual(started, [{ command: 'run', args: ['it'], env: { KEY: 'secret' } }]);
    assert.deepEqual(sent, [`/models Bearer secret ${url.slice('http://'.length)}`]);
  } finally {
    live.dispose();
    endpoint.close();
    endpoint.closeAllConnections();
  }
});
