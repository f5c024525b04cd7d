// A model call as a request and as a shell command; steps as Markdown.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';
import { curlText } from '../../../../src/trace/chat/curl.ts';
import { messagesOf, requestOf } from '../../../../src/trace/chat/modelCall.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { stepMarkdown, trajectoryMarkdown } from '../../../../src/trace/text/markdown.ts';
import { lendingDesk, Stream } from '../../../support/stream.ts';

const TOOLS = 'c'.repeat(64);
const LONG = 'd'.repeat(64);
const blobs = {
  text: ({ $blob: sha }: { readonly $blob: string }) =>
    Promise.resolve(
      sha === TOOLS
        ? JSON.stringify([{ name: 'find', description: 'Finds', parameters: { type: 'object' }, effect: 'pure' }])
        : 'a long page',
    ),
};

function modelOf(stream: Stream): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(stream.events);
  return model;
}

it('a model call becomes its original request, including blobs', async () => {
  const s = new Stream();
  s.start();
  s.message('user', "What's new?");
  s.model('I look.', [{ id: 'c1', name: 'find', arguments: { $$where: 'here' } }]);
  const call = s.toolStart('c1', 'find', { $$where: 'here' });
  s.toolEnd(call, 'c1', { $blob: LONG, bytes: 11, media: 'text/plain', head: 'a lo' });
  const span = s.add('model.start', {
    step: 2,
    model: 'm',
    endpoint: 'https://me:secret@api.example.org/v1/?key=k',
    context: [[1, 3]],
    sampling: { temperature: 0.5, seed: 3, extra: { top_k: 4 } },
    tools: TOOLS,
  });
  s.add('edit', { of: { seq: span }, path: '/sampling/temperature', value: 0.9 }, { span });
  const model = modelOf(s);
  const found = model.span(span);
  assert.ok(found?.kind === 'model');
  const body = await requestOf(model, found, blobs);
  assert.deepEqual(body, {
    model: 'm',
    temperature: 0.9,
    seed: 3,
    top_k: 4,
    tools: [{ type: 'function', function: { name: 'find', description: 'Finds', parameters: { type: 'object' } } }],
    messages: [
      { role: 'user', content: "What's new?" },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"$where":"here"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'a long page' },
    ],
  });
  assert.deepEqual(await messagesOf(model, found, blobs), body['messages']);
  const text = curlText(found.start.data.endpoint, body);
  assert.match(text, /^curl 'https:\/\/api\.example\.org\/v1\/chat\/completions' \\\n/);
  assert.match(text, /"Authorization: Bearer \$OPENAI_API_KEY"/);
  assert.doesNotMatch(text, /secret|key=k/);
  assert.match(curlText('demo:?latency_ms=3', body), /^curl "\$OPENAI_BASE_URL\/chat\/completions"/);
});

it('a request is one shell command, whatever the messages contain', {
  skip: process.platform === 'win32' ? 'it is written for POSIX shells' : false,
}, () => {
  const body = { model: 'm', messages: [{ role: 'user', content: "it's $HOME `id` \\ \"x\"\n'''; echo no" }] };
  const args = execFileSync(
    'sh',
    ['-c', `curl() { printf '%s\\0' "$@"; }\n${curlText('https://api.example.org/v1', body)}`],
    { encoding: 'utf8', env: { OPENAI_API_KEY: 'k1' } },
  ).split('\0');
  assert.deepEqual(args.slice(0, 6), [
    'https://api.example.org/v1/chat/completions',
    '-H',
    'Authorization: Bearer k1',
    '-H',
    'Content-Type: application/json',
    '-d',
  ]);
  assert.deepEqual(JSON.parse(args[6] ?? ''), body);
});

it('a step and a whole trajectory are written as Markdown', () => {
  const model = modelOf(lendingDesk());
  assert.equal(stepMarkdown(model, 9), undefined);
  const step = stepMarkdown(model, 2) ?? '';
  assert.match(step, /^## Step 2\n/);
  assert.match(step, /\*\*`renew_loan`\*\*\n\n```json\n\{\n {2}"loan_id": 17,/);
  assert.match(step, /✗ tool_error: limit reached/);
  assert.match(step, /- `update loans 17 {2}due: "2026-05-01" → "2026-05-15"`/);
  const whole = trajectoryMarkdown(model, 'r1');
  assert.match(whole, /^# renew-overdue, attempt 1\n\ndone · \*\*failed\*\* · reward 0 · 3 steps/);
  assert.match(whole, /> Renew everything overdue for Ada\./);
  assert.match(whole, /loan 18 is still overdue/);
});

it('a value is fenced with more backticks than it contains', () => {
  const s = new Stream();
  s.start();
  s.model('', [{ id: 'c1', name: 'read', arguments: {} }]);
  s.toolEnd(s.toolStart('c1', 'read', {}), 'c1', '````js\ncode\n````');
  assert.match(stepMarkdown(modelOf(s), 1) ?? '', /\n`````\n````js\ncode\n````\n`````\n/);
});
