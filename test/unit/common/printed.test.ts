// Everything that a process prints passes the places that make it harmless.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { jsonLine, textLine } from '../../../src/server/log.ts';

const SOURCES = path.resolve(import.meta.dirname, '../../../src');
const PRINTS = /process\.std(?:out|err)\.write\(|\bconsole\.(?:log|error|warn|info|debug)\(/;

/** These print nothing that others chose, or only what they made harmless. */
const MAY_PRINT = [
  'cli/entry.ts', // the version of Node
  'cli/output.ts',
  'client/published/template/main.ts', // results for the process that starts it
  'kubernetes/programs/probeScript.ts', // to the log of its pod
  'kubernetes/programs/unpackScript.ts',
  'kubernetes/programs/workerBootstrap.ts',
  'language/serve.ts', // to the editor, whose output channel is not a terminal
  'server/entry.ts', // the version of Node
  'server/log.ts',
  'server/main.ts', // JSON for the process that starts the server
  'tools/toolServer/connection.ts',
  'tools/toolServer/main.ts', // the path of its socket
  'tools/toolServer/relay/main.ts',
  'worker/main.ts',
];

test('only these files print', () => {
  const printing = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('build/'))
    .filter((file) => PRINTS.test(readFileSync(path.join(SOURCES, file), 'utf8')));
  assert.deepEqual(printing.sort(), MAY_PRINT);
});

test('names in the log of the server are harmless', () => {
  const name = 'a\x1b]52;c;aGk=\x07\x9b\u202e\nb';
  assert.equal(textLine(new Date(0), name, {}), '1970-01-01T00:00:00.000Z a␛]52;c;aGk=␇\ufffd\ufffd\n  b');
  const line = jsonLine(new Date(0), name, { worker: name });
  assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f\u202e]/);
  assert.equal((JSON.parse(line) as { worker: string }).worker, name);
});
