/** Tasks that begin in a conversation, and rows of AgentWorldBench. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { columnsOf } from '../../../src/config/dataset/columns.ts';
import { type DatasetItem, readTasks } from '../../../src/config/dataset/dataset.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';

type Format = NonNullable<Parameters<typeof columnsOf>[0]['format']>;

async function read(
  contents: Readonly<Record<string, string>>,
  name: string,
  format: Format,
): Promise<{ items: DatasetItem[]; problems: string[] }> {
  const problems: string[] = [];
  const items: DatasetItem[] = [];
  const spec = { path: name === '' ? '/w' : `/w/${name}`, format, columns: columnsOf({ format }), offset: 0 };
  const report = (problem: Parameters<Parameters<typeof readTasks>[2]>[0]): void =>
    void problems.push(formatProblem(problem, '/w'));
  for await (const item of readTasks(memoryFiles(contents), spec, report)) items.push(item);
  return { items, problems };
}

const row = (more: object = {}): object => ({
  task: 'agentworld/mcp',
  id: 145_256_090_131_919,
  prompt: ['### Turn 1', '### Turn 2', '### Turn 3'],
  response: ['**Environment Observation:**\none', '**Environment Observation:**\ntwo', 'three'],
  current_prompt: '### Turn 2',
  system_str: 'You are a tool.',
  turn_idx: 2,
  total_turns: 3,
  ...more,
});
const lines = (...rows: (object | string)[]): string =>
  rows.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');

describe('a column with a conversation', () => {
  const task = (messages: unknown): Promise<{ items: DatasetItem[]; problems: string[] }> =>
    read({ 'd.jsonl': JSON.stringify({ question: 'And now?', messages }) }, 'd.jsonl', 'jsonl');

  it('comes before the question, and may have its own prompt', async () => {
    const { items, problems } = await task([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: 'Hello' },
    ]);
    assert.deepEqual(problems, []);
    assert.deepEqual(items[0]?.task.messages, [
      { role: 'system', text: 'Be short.' },
      { role: 'user', text: 'Hi' },
      { role: 'assistant', text: 'Hello' },
    ]);
    const csv = await read(
      { 'd.csv': 'question,messages\nx,"[{""role"":""user"",""content"":""a""}]"\n' },
      'd.csv',
      'csv',
    );
    assert.deepEqual(csv.items[0]?.task.messages, [{ role: 'user', text: 'a' }]);
  });
  it('is checked, and each mistake has a place', async () => {
    const hint = ' — Write [{ "role": "user", "content": "…" }, { "role": "assistant", "content": "…" }].';
    for (const [messages, text] of [
      ['hello', 'must be a list of messages'],
      [['hello'], 'has no object in message 1'],
      [[{ role: 'tool', content: 'x' }], 'has the role "tool" in message 1'],
      [[{ content: 'x' }], 'has the role null in message 1'],
      [
        [
          { role: 'user', content: 'a' },
          { role: 'system', content: 'b' },
        ],
        'has the role "system", which only the first may have, in message 2',
      ],
      [[{ role: 'user', content: 7 }], 'has no text as `content` in message 1'],
      [[{ role: 'user', content: [{ type: 'image_url' }] }], 'has no text as `content` in message 1'],
      [
        [{ role: 'assistant', content: 'x', tool_calls: [] }],
        'has tool calls, which only a rollout can have, in message 1',
      ],
    ] as const)
      assert.deepEqual((await task(messages)).problems, [`d.jsonl:1:1: column \`messages\` ${text}${hint}`]);
  });
});

describe('AgentWorldBench', () => {
  it('is one task for each row: the history, the action, and what was observed', async () => {
    const { items, problems } = await read({ 'mcp_test.jsonl': lines(row()) }, 'mcp_test.jsonl', 'agentworldbench');
    assert.deepEqual(problems, []);
    assert.deepEqual(items, [
      {
        file: '/w/mcp_test.jsonl',
        line: 1,
        task: {
          id: 'mcp-145256090131919-2',
          question: '### Turn 2',
          answer: 'two',
          level: 'mcp',
          messages: [
            { role: 'system', text: 'You are a tool.' },
            { role: 'user', text: '### Turn 1' },
            { role: 'assistant', text: '**Environment Observation:**\none' },
          ],
          meta: { trajectory: 145_256_090_131_919, turn: 2, total_turns: 3 },
        },
      },
    ]);
  });
  it('reads all files of a folder, splits rows at \\n only, and keeps rows with the same turn apart', async () => {
    const strange = row({ task: 'search', turn_idx: 3, current_prompt: '', response: ['a', 'b', 'x\u2028y\u0085z'] });
    const { items, problems } = await read(
      {
        'search_test.jsonl': lines(strange, strange),
        'mcp_test.jsonl': `${lines(row({ turn_idx: 1, current_prompt: undefined, system_str: '' }))}\r\n\n`,
        'notes.jsonl': 'no row',
      },
      '',
      'agentworldbench',
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(
      items.map(({ task }) => [task.id, task.answer, task.messages?.length]),
      [
        ['mcp-145256090131919-1', 'one', undefined],
        ['search-145256090131919-3', 'x\u2028y\u0085z', 5],
        ['search-145256090131919-3-line-2', 'x\u2028y\u0085z', 5],
      ],
    );
  });
  it('leaves out broken rows, each with its place', async () => {
    const { items, problems } = await read(
      {
        'mcp_test.jsonl': lines(
          row(),
          '{"task": "mcp", "id": 1, ',
          row({ task: 'chess' }),
          row({ turn_idx: 9 }),
          row({ prompt: 'text' }),
          row({ turn_idx: 1 }),
          '7',
          row({ turn_idx: 3, current_prompt: '' }),
        ),
      },
      'mcp_test.jsonl',
      'agentworldbench',
    );
    assert.equal(items.length, 2);
    assert.deepEqual(
      problems.map((text) => text.replace(/ — .*/, '')),
      [
        'mcp_test.jsonl:2:26: warning: invalid JSON: expected double-quoted property name',
        'mcp_test.jsonl:3:1: warning: the domain "chess" is none of mcp, search, terminal, swe, android, web, os',
        'mcp_test.jsonl:4:1: warning: turn 9 is missing: the row has 3 actions and 3 observations',
        'mcp_test.jsonl:5:1: warning: not a row of AgentWorldBench: prompt: Invalid input: expected array, received ' +
          'string',
        'mcp_test.jsonl:6:1: warning: `current_prompt` is not the action of turn 1',
        'mcp_test.jsonl:7:1: warning: not a row of AgentWorldBench: Invalid input: expected object, received number',
      ],
    );
  });

  const FILES = {
    'model.agent.yaml': 'version: 1\nname: m\nmodel: { endpoint: "demo:", name: demo }\nprompt: You are a world.\n',
    'b.batch.yaml':
      'version: 1\nagent: model.agent.yaml\ndataset: { file: mcp_test.jsonl, format: agentworldbench }\n' +
      'scorer: { kind: judge, subject: observation, model: { endpoint: "demo:", name: demo } }\n',
  };
  const load = async (rows: string): Promise<string[]> => {
    const { problems } = await loadBatch(memoryFiles({ ...FILES, 'mcp_test.jsonl': rows }), 'b.batch.yaml');
    return problems.map((problem) => formatProblem(problem, '/w'));
  };
  it('counts what it leaves out, and is refused only if nothing is left', async () => {
    assert.deepEqual(await load(lines(row())), []);
    assert.deepEqual((await load(lines(row(), 'x', 'y'))).slice(0, 1), [
      'b.batch.yaml:3:18: warning: 2 of 3 rows are broken, and left out — Each of them is listed.',
    ]);
    const many = await load(lines(row(), ...Array.from({ length: 30 }, () => 'x')));
    assert.equal(many.length, 21);
    assert.match(many[0] ?? '', /30 of 31 rows are broken, and left out — The first 20 are listed\./);
    assert.match((await load(lines('x', 'y')))[0] ?? '', /b\.batch\.yaml:3:18: none of the 2 rows can be read/);
  });
  it('needs a rubric only if an answer is judged', async () => {
    const without = { ...FILES, 'mcp_test.jsonl': lines(row()) };
    const answers = without['b.batch.yaml'].replace('subject: observation, ', '');
    const { problems } = await loadBatch(memoryFiles({ ...without, 'b.batch.yaml': answers }), 'b.batch.yaml');
    assert.deepEqual(
      problems.map((problem) => formatProblem(problem, '/w')),
      ['b.batch.yaml:4:9: `scorer.rubric` is missing — Add `rubric: prompts/rubric.md`, or write the rubric inline.'],
    );
  });
});
