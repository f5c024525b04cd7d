import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { strayConnections } from '../../../src/build/checks/connections.ts';

describe('connections to the outside', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'rollout-connections-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, 'src', file)), { recursive: true });
    writeFileSync(path.join(root, 'src', file), text);
  };
  const found = (allowed: Record<string, string> = {}): string[] =>
    strayConnections(root, allowed).map((line) => line.replace(/ knows neither .*/, ''));

  it('are found in every form, unless a file has a reason', () => {
    write('cli/global.ts', "export const a = () => fetch('https://a');\nexport const b = globalThis.fetch;\n");
    write('cli/default.ts', 'export const load = (send = fetch) => send;\nexport const all = { fetch };\n');
    write(
      'host/node.ts',
      "import https, { get } from 'node:https';\nhttps.request('https://a');\n(1 > 0 ? https : https).get(get);\n",
    );
    write(
      'host/packages.ts',
      "import { request } from 'undici';\nvoid request;\nexport const b = () => import('ws');\n",
    );
    write('net/raw.ts', "import * as tls from 'node:tls';\nexport const a = tls.connect(1);\n");
    assert.deepEqual(found({ 'src/net/': 'the way out' }), [
      'src/cli/default.ts:1: fetch',
      'src/cli/default.ts:2: fetch',
      'src/cli/global.ts:1: fetch',
      'src/cli/global.ts:2: globalThis.fetch',
      'src/host/node.ts:1: get of node:https',
      'src/host/node.ts:2: https.request',
      'src/host/node.ts:3: https.get',
      'src/host/node.ts:3: https.get',
      'src/host/packages.ts:1: request of undici',
      'src/host/packages.ts:3: import of ws',
    ]);
  });

  it('are not what only has such a name', () => {
    rmSync(path.join(root, 'src'), { recursive: true });
    write(
      'cli/names.ts',
      "import type { Agent } from 'undici';\nimport http, { createServer } from 'node:http';\n" +
        "import { fetch as own } from './own.ts';\nexport type F = typeof fetch;\n" +
        'export const a = (fetch: F, agent: Agent) => fetch(own, agent);\n' +
        'export const b = { fetch: 1 };\nexport const c = b.fetch;\n' +
        'export const d = http.createServer(createServer);\n' +
        'export class E { fetch(): number { return 1; } }\n',
    );
    assert.deepEqual(found(), []);
    assert.deepEqual(found({ 'src/cli/names.ts': 'none' }), [
      'src/build/checks/connections.ts:1: src/cli/names.ts opens no connections',
    ]);
  });
});
