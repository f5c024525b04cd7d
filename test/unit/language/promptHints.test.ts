/** The token count of a prompt, next to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inlayHints } from '../../../src/language/features/prompt.ts';
import { estimateTokens } from '../../../src/language/prompts/tokenEstimate.ts';
import { type Facts, NO_FACTS } from '../../../src/language/workspace/facts.ts';
import { DESK, workspaceOf } from './workspaceKit.ts';

const WHOLE = { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } };
const RENDERED = 'Books of Oslo: Which?\n\nUse find_books once, and `submit` the answer. One may submit once.\n';

test('a prompt is counted as filled for the first task; an estimate says that it is one', async () => {
  const [hint, ...others] = await inlayHints(workspaceOf(), '/w/prompts/desk.md', WHOLE);
  assert.deepEqual(others, []);
  assert.equal(hint?.label, `≈ ${estimateTokens(RENDERED)} tokens`);
  assert.ok(typeof hint.tooltip === 'string');
  assert.match(hint.tooltip, /Estimated.*with task a/s);
  assert.deepEqual(hint.position, { line: 0, character: DESK['/w/prompts/desk.md']?.indexOf('\n') });
});

test('an endpoint with a tokenizer counts that very text for that model', async () => {
  const requests: unknown[] = [];
  const facts: Facts = {
    ...NO_FACTS,
    tokens: (question, model, text) => {
      requests.push({ ...question, model, text });
      return 41;
    },
  };
  const [hint] = await inlayHints(workspaceOf(DESK, facts), '/w/agents/desk.agent.yaml', WHOLE);
  assert.equal(hint?.label, '41 tokens');
  assert.equal(hint.position.line, 3);
  assert.deepEqual(requests, [{ endpoint: 'http://gpu:8000/v1', apiKey: '${env:KEY}', model: 'm', text: RENDERED }]);
});

test('hidden prompts and other texts have no count', async () => {
  assert.deepEqual(
    await inlayHints(workspaceOf(), '/w/agents/desk.agent.yaml', { ...WHOLE, start: { line: 5, character: 0 } }),
    [],
  );
  assert.deepEqual(await inlayHints(workspaceOf({ ...DESK, '/w/README.md': 'text' }), '/w/README.md', WHOLE), []);
  assert.deepEqual(await inlayHints(workspaceOf(), '/w/batches/one.batch.yaml', WHOLE), []);
});
