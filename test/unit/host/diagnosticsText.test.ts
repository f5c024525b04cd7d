/** Collect Diagnostics holds what a report needs and no secret; and which store is in use. */
import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { type DiagnosticFacts, diagnosticsText } from '../../../src/host/diagnostics/diagnosticsText.ts';
import { resolveStore } from '../../../src/host/server/storeSetting.ts';
import { LogBuffer } from '../../../src/host/window/logBuffer.ts';

const facts: DiagnosticFacts = {
  product: 'rollout-studio 1',
  editor: 'Editor 1.100.0',
  system: 'linux',
  remote: undefined,
  trusted: true,
  target: 'local',
  store: '/data/store',
  settings: { 'rollout.store': '' },
  server: 'No rollout server runs.',
  log: [],
  secrets: [],
};

test('no password, token, or stored value is in it, wherever it comes from', () => {
  const store = 'postgres://me:p%40ssw0rd@host/db';
  const text = diagnosticsText({
    ...facts,
    store,
    settings: { 'rollout.store': store },
    secrets: ['sk-live-12345', 'token-of-the-server'],
    server: {
      product: 'p',
      protocol: 1,
      pid: 1,
      store,
      started_at: 0,
      queued: 0,
      running: 0,
      held: 0,
      workers: [],
      endpoints: [
        {
          endpoint: 'https://user:hunter22@models/v1',
          permits: 1,
          state: 'ok',
          text: 'Authorization: Bearer abc.def-ghi',
        },
      ],
    },
    log: [
      'asked with sk-live-12345',
      'token token-of-the-server',
      'connected to postgres://a:other-one@h/d',
      'p@ssw0rd',
    ],
  });
  for (const secret of [
    'p%40ssw0rd',
    'p@ssw0rd',
    'sk-live-12345',
    'token-of-the-server',
    'hunter22',
    'abc.def-ghi',
    'other-one',
  ])
    assert.ok(!text.includes(secret), secret);
  assert.match(text, /asked with \[redacted\]/);
  assert.match(text, /postgres:\/\/me:\*\*\*@host\/db/);
});

test('a log with Markdown in it stays a log', () => {
  const text = diagnosticsText({ ...facts, log: ['```', '# not a heading', '````'] });
  assert.match(text, /\n`{5}\n```\n# not a heading\n````\n`{5}\n$/);
});

test('the log keeps its last lines', () => {
  const kept = new LogBuffer(3);
  for (let i = 1; i <= 5; i++) kept.add('info', `line ${i}`, []);
  kept.add('error', new Error('boom'), ['rollout.import']);
  assert.equal(kept.lines.length, 3);
  assert.match(kept.lines.at(-1) ?? '', /\[error\] boom rollout\.import$/);
});

test('the store comes from the setting, the environment, or the default', () => {
  const workspace = path.resolve('/w');
  assert.equal(resolveStore('', undefined, workspace, '/default'), '/default');
  assert.equal(resolveStore('', 'postgres://h/d', workspace, '/default'), 'postgres://h/d');
  assert.equal(resolveStore('runs', 'postgres://h/d', workspace, '/default'), path.join(workspace, 'runs'));
  assert.equal(resolveStore(' ~/runs ', undefined, workspace, '/default'), path.join(os.homedir(), 'runs'));
  assert.equal(resolveStore('runs', undefined, undefined, '/default'), path.join(os.homedir(), 'runs'));
});
