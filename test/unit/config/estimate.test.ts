/** What a batch will use, before it runs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { estimateText } from '../../../src/client/text/estimateText.ts';
import { type Estimate, UsageEstimate } from '../../../src/config/estimate.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { fileTasks } from '../../../src/config/submit/fileTasks.ts';
import { attemptChoices } from '../../../src/host/launch/plan.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';

const price = (input: number, output: number): string => `price: { input: ${input}, output: ${output} }`;

async function estimate(options: { agent?: string; agentPrice?: string; judgePrice?: string }): Promise<Estimate> {
  const { agent = '', agentPrice = price(1, 10), judgePrice = price(2, 20) } = options;
  const task = {
    question: 'q'.repeat(400),
    answer: 'a'.repeat(4000),
    messages: [
      { role: 'system', content: 's'.repeat(4000) },
      { role: 'user', content: 'u'.repeat(40_000) },
      { role: 'assistant', content: 'o'.repeat(40_000) },
    ],
  };
  const files = memoryFiles(
    {
      'm.agent.yaml':
        'version: 1\nname: m\nprompt: Unused.\n' + `model: { endpoint: "demo:", name: demo, ${agentPrice} }\n${agent}`,
      'b.batch.yaml':
        'version: 1\nagent: m.agent.yaml\ndataset: { file: d.jsonl }\nattempts: 3\n' +
        `scorer: { kind: judge, subject: observation, model: { endpoint: "demo:", name: demo, ${judgePrice} } }\n`,
      'd.jsonl': `${JSON.stringify(task)}\n${JSON.stringify(task)}\n`,
    },
    65_536,
  );
  const { value, problems } = await loadBatch(files, 'b.batch.yaml');
  assert.ok(value !== undefined, JSON.stringify(problems));
  const usage = new UsageEstimate(value);
  for await (const each of fileTasks(value, files)) usage.add(each);
  return usage.result(3);
}

it('adds up the conversation, the question, and what the judge sees', async () => {
  const found = await estimate({});
  const input = 6 * (1000 + 20_000 + 100);
  const judged = 6 * (1500 + 20_000 + 100 + 2000);
  assert.deepEqual(found, {
    tasks: 2,
    attempts: 6,
    agent: { calls: 6, input_tokens: input, output_tokens: 6000, cost: (input + 10 * 6000) / 1e6 },
    judge: { calls: 6, input_tokens: judged, output_tokens: 4200, cost: (2 * judged + 20 * 4200) / 1e6 },
    cost: (input + 60_000) / 1e6 + (2 * judged + 84_000) / 1e6,
    at_least: false,
  });
  const text = estimateText(found);
  assert.match(text, /^2 tasks, 6 attempts; estimated/);
  assert.match(text, /judge +6 calls, 142k in, 4\.2k out, cost 0\.37/);
  assert.match(text, /cost +0\.55$/);
});

it('says what it does not know', async () => {
  const {
    cost,
    at_least: atLeast,
    judge,
    agent,
  } = await estimate({
    agent: 'tools: [{ builtin: [calculator] }]\n',
    judgePrice: 'headers: {}',
  });
  assert.deepEqual([cost, atLeast, judge?.cost], [undefined, true, undefined]);
  assert.ok(agent.cost !== undefined);
  const text = estimateText(
    await estimate({ agent: 'tools: [{ builtin: [calculator] }]\n', judgePrice: 'headers: {}' }),
  );
  assert.match(text, /agent +at least 6 calls/);
  assert.match(text, /no cost: write `price`/);
});

it('is shown for each number of attempts of a launch, of the chosen tasks', async () => {
  const facts = { tasks: 2, complete: true, attempts: 1, estimate: await estimate({}) };
  const described = attemptChoices(facts, undefined, { kind: 'first', count: 1 }).map(({ description }) => description);
  assert.equal(described[0], 'from the file · about 46.4k tokens, cost 0.09');
  assert.equal(described[1], 'attempts per task · about 186k tokens, cost 0.37');
  const unknown = { ...facts, estimate: await estimate({ agent: 'tools: [{ builtin: [calculator] }]\n' }) };
  assert.equal(attemptChoices(unknown, undefined)[0]?.description, 'from the file');
});
