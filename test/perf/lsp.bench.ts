/**
 * Keystroke to problems, over the stdio of `rollout lsp`: in an agent file and a batch file of 10,000 lines each, in a
 * workspace of 500 files that reference each other. Each keystroke breaks or fixes a key; the time ends when the
 * problems of that version have arrived. The baseline is the same in a file of a few lines.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { LspClient } from '../support/lspClient.ts';
import { median, rounds, spread, table } from './support/table.ts';

const FILES = 500;
const LINES = 10_000;
const BOUND_MS = 100;
/** The first keystrokes run in a cold runtime. */
const WARM = 5;

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lsp-'));
const write = (file: string, text: string): void => {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
};

const agentHead = (name: string): string =>
  `version: 1\nname: ${name}\nmodel: { endpoint: 'demo:', name: demo }\nprompt: ../prompts/p.md\nlimits: { ` +
  'steps: 20 }\n';
const batchHead = (agent: string): string =>
  `version: 1\nagent: ../agents/${agent}.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\nattempts: ` +
  '4\nscorer: { kind: exact }\n';

write('prompts/p.md', 'Answer {{task.question}}\n');
write(
  'data/tasks.jsonl',
  Array.from({ length: 10_000 }, (_, index) =>
    JSON.stringify({ id: `t${index}`, question: `What is ${index} + 1?`, answer: String(index + 1) }),
  ).join('\n'),
);
for (let index = 0; index < FILES / 2; index++) {
  write(`agents/a${index}.agent.yaml`, agentHead(`a${index}`));
  write(`batches/b${index}.batch.yaml`, batchHead(`a${index % 50}`)); // five batches for each of fifty agents
}
let tools = `${agentHead('tools')}tools:\n`;
for (let index = 0; tools.split('\n').length < LINES; index += 50) {
  for (let entry = index; entry < index + 50; entry++)
    tools +=
      `  - mcp:\n      url: http://localhost:3000/mcp${entry}\n    name: server${entry}\n    tools: [read_file, ` +
      'write_file]\n';
}
const prose = (indent: string): string =>
  Array.from(
    { length: LINES },
    (_, index) => `${indent}Rule ${index}: be polite about {{task.question}} and its consequences.\n`,
  ).join('');
write('agents/tools.agent.yaml', tools);
write(
  'agents/prompt.agent.yaml',
  `${agentHead('prompt').replace('prompt: ../prompts/p.md\n', '')}prompt: |\n${prose('  ')}`,
);
write(
  'batches/rubric.batch.yaml',
  batchHead('tools').replace(
    '{ kind: exact }',
    `\n  kind: judge\n  model: { endpoint: 'demo:', name: demo }\n  rubric: |\n${prose('    ')}`,
  ),
);

const client = await LspClient.start(folder);
const began = performance.now();
await client.checkedAll();
const checked = performance.now() - began;

async function keystrokes(file: string, word: string): Promise<number[]> {
  await client.open(file, readFileSync(path.join(folder, file), 'utf8'));
  await client.problems(file);
  const times: number[] = [];
  const wrong = `${word}x`;
  for (let round = 0; round < rounds(20) + WARM; round++) {
    for (const [from, to, count] of [
      [`${word}:`, `${wrong}:`, 1],
      [`${wrong}:`, `${word}:`, 0],
    ] as const) {
      const published = client.next(
        file,
        (problems) => (count === 1) === problems.some(({ code }) => code === 'unknown_key'),
      );
      const began = performance.now();
      await client.edit(file, from, to);
      await published;
      if (round >= WARM) times.push(performance.now() - began);
    }
  }
  return times;
}

const rows: [string, number[]][] = [];
rows.push([
  'baseline: an agent file of 5 lines that no batch names',
  await keystrokes('agents/a200.agent.yaml', 'limits'),
]);
rows.push(['an agent file of 5 lines that 5 batches name', await keystrokes('agents/a1.agent.yaml', 'limits')]);
rows.push([`an agent file of ${LINES} lines, a list of tools`, await keystrokes('agents/tools.agent.yaml', 'limits')]);
rows.push([
  `the same, in an entry of the list`,
  await keystrokes('agents/tools.agent.yaml', 'name: server1200\n    tools'),
]);
rows.push([`an agent file of ${LINES} lines, a prompt`, await keystrokes('agents/prompt.agent.yaml', 'limits')]);
rows.push([`a batch file of ${LINES} lines, a rubric`, await keystrokes('batches/rubric.batch.yaml', 'attempts')]);
await client.close();
rmSync(folder, { recursive: true, force: true });

console.log(
  table(
    [['keystroke to problems', 'ms (min / median / max)'], ...rows.map(([what, times]) => [what, spread(times, 1)])],
    [1],
  ),
);
console.log(
  `${FILES + 3} files, all checked ${checked.toFixed(0)} ms after the start. Bound: ≤ ${BOUND_MS} ms from the ` +
    'keystroke.',
);
if (rows.some(([, times]) => median(times) > BOUND_MS)) process.exitCode = 1;
