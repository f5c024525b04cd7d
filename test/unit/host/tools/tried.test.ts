/** Forms to try tools with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstArguments, triedText, triedTitle } from '../../../../src/host/tools/try/tried.ts';
import { argumentsIn, formText } from '../../../../src/host/toolCalls/rerun/formText.ts';

test('a form begins with what the schema requires', () => {
  const parameters = {
    type: 'object', required: ['id', 'n', 'kind', 'at', 'yes', 'all', 'free'],
    properties: {
      id: { type: 'string' }, n: { type: 'integer', minimum: 1 }, kind: { enum: ['a', 'b'] }, at: { type: 'object', required: ['x'], properties: { x: { type: 'number', default: 3 } } },
      yes: { type: 'boolean' }, all: { type: 'array' }, free: {}, more: { type: 'string' },
    },
  };
  const first = firstArguments(parameters);
  assert.deepEqual(first, { id: '', n: 1, kind: 'a', at: { x: 3 }, yes: false, all: [], free: null });
  assert.deepEqual(argumentsIn(formText('rollout-try:/1/schema/x.json', first)), first, 'the line that names the schema is no argument');
});

test('a result is followed by what came with it and what was printed', () => {
  const made = { status: 'ok' as const, result: { a: 1 }, ms: 12.4, log: 'half way\n', retries: [{ class: 'timeout' }], files: [{ mime_type: 'image/png', content: 'AAAA' }] };
  assert.equal(triedText(made), '{\n  "a": 1\n}\n\nwith it came:\nimage/png, 3 bytes\n\nprinted:\nhalf way\n');
  assert.match(triedTitle(made), /^ok · 12.*ms · made again 1×$/);
  assert.equal(triedText({ status: 'error', error: { class: 'tool_error', message: 'no', stack: 'no\n    at run (tools/a.ts:3:5)' }, ms: 1, log: '' }), '✗ tool_error: no\n    at run (tools/a.ts:3:5)\n');
});
