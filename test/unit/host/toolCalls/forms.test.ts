/** Forms of calls, and tests that are written from calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TestCaseInput, testCase } from '../../../../src/client/toolCalls/testCase.ts';
import { outcomeText } from '../../../../src/host/toolCalls/rerun/callOutput.ts';
import { argumentsIn, formText, schemaText } from '../../../../src/host/toolCalls/rerun/formText.ts';

test('a form names its schema, and holds the arguments and nothing else', () => {
  const text = formText('rollout-schema:/1/renew.json', { id: 'L-1', n: 2 });
  assert.equal(text.split('\n')[1], '  "$schema": "rollout-schema:/1/renew.json",');
  assert.deepEqual(argumentsIn(text), { id: 'L-1', n: 2 });
  assert.deepEqual(
    argumentsIn(formText('rollout-schema:/1/x.json', { $schema: 'http://json-schema.org' })),
    { $schema: 'http://json-schema.org' },
    'an argument of that name stays',
  );
  assert.deepEqual(argumentsIn('[1]'), [1]);
  assert.throws(() => argumentsIn('{"a": '), SyntaxError);
});

test('the schema of a form has room for the line that names it', () => {
  const schema = JSON.parse(
    schemaText({
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
      additionalProperties: false,
    }),
  ) as { properties: object; required: string[] };
  assert.deepEqual([Object.keys(schema.properties), schema.required], [['$schema', 'id'], ['id']]);
});

test('the result of a call, as a document', () => {
  assert.equal(outcomeText({ result: { a: [1] } }), '{\n  "a": [\n    1\n  ]\n}\n');
  assert.equal(outcomeText({ result: 'text' }), 'text\n');
  assert.equal(
    outcomeText({ error: { class: 'tool_error', message: 'no', stack: 'no\n    at run (tools/a.ts:3:5)' } }),
    '✗ tool_error: no\n    at run (tools/a.ts:3:5)\n',
  );
});

const base: TestCaseInput = {
  name: 'renew',
  arguments: { id: 'L-1' },
  result: { due: '2026-03-30' },
  error: undefined,
  seed: 7,
  recorded: 'task t1, step 2 (r1@5)',
  module: '../tools/loans.ts',
  command: 'rollout test tests/renew.test.ts',
};

test('a test of a tool imports it, and expects its result', () => {
  const text = testCase(base);
  assert.match(text, /^import \{ renew \} from '\.\.\/tools\/loans\.ts';$/m);
  assert.match(text, /^test\('renew \{id: "L-1"\} returns the recorded result', async \(\) => \{$/m);
  assert.match(text, /renew\.input\.parse\(\{ id: 'L-1' \}\)/);
  assert.match(text, /assert\.deepEqual\(plain\(await call\(\)\), \{ due: '2026-03-30' \}\);/);
  assert.match(text, /^\/\/ A recorded call, task t1, step 2 \(r1@5\)\.$/m);
});

test('a test of a failed call expects the error; wrong arguments only that it fails', () => {
  assert.match(
    testCase({ ...base, result: undefined, error: { class: 'tool_error', message: 'it\'s "no"' } }),
    /assert\.rejects\(call\(\), \{ message: 'it\\'s "no"' \}\);/,
  );
  assert.match(
    testCase({ ...base, result: undefined, error: { class: 'invalid_arguments', message: 'x' } }),
    /assert\.rejects\(call\(\)\);/,
  );
});

test('a test of a world’s tool opens the world and repeats the calls before it', () => {
  const text = testCase({
    ...base,
    module: '../worlds/library.ts',
    world: {
      seed: 11,
      task: { id: 't1', question: 'q', meta: {} },
      before: [{ name: 'pay', arguments: { fine: 'F-1' } }],
    },
  });
  assert.match(text, /import \{ open \} from '\.\.\/worlds\/library\.ts';/);
  assert.match(
    text,
    /const task = \{ id: 't1', question: 'q', meta: \{\} \};\n {2}const world = await open\(task, 11\)/,
  );
  assert.match(text, /\['pay', \{ fine: 'F-1' \}\],/);
  assert.match(text, /call\('renew', \{ id: 'L-1' \}\)/);
});

test('recorded values never become code', () => {
  const text = testCase({
    ...base,
    arguments: { "a'); evil(); ('": "\\'); evil(); ('\u2028\n", __proto__x: 1, ['__proto__']: 2 },
    recorded: 'task x\n evil();',
  });
  assert.doesNotMatch(text, /^ *evil\(\)/m);
  assert.match(text, /\['__proto__'\]: 2/);
  assert.ok(!text.includes('\u2028'));
});
