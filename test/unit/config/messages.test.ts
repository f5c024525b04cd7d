/** Golden texts: messages about files with many problems at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkFiles, configFilesUnder } from '../../../src/config/checkFiles.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { looksSecret } from '../../../src/config/source/secrets.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { FILES } from './sample.ts';

async function check(path: string, text: string): Promise<string[]> {
  return (await checkFiles(memoryFiles({ ...FILES, [path]: text }), [path])).map((problem) =>
    formatProblem(problem, '/w'),
  );
}

describe('an agent file', () => {
  it('reports all its problems at once', async () => {
    const text = `version: "1"
name: my agent
modle: {}
model:
  endpoint: localhost:8000/v1
  name: 7
  temperature: 1
  sampling: { temperature: "1.0", top_p: 2, max_tokens: many, top_q: 20 }
  capture: [token_ids]
  price: { input: -1 }
  endpoint_wait: soon
  headers: { X-A: 5 }
prompt:
tools:
  - modul: tools/loans.ts
  - mcp: { args: [a], headers: {} }
  - mcp: { command: x, url: "http://x" }
  - mcp: { url: "http://x", args: [] }
  - builtin: [terminl]
  - builtin: terminal
  - module: prompts/desk.ts
    shared: true
  - calculator
answer: lst_message
context: { reasoning: maybe, overflow: drop-oldest }
limits: { steps: 0, tokens: , max_seconds: 3 }
max_steps: 3
team: { kind: handof, members: [] }
colour: red
`;
    assert.deepEqual(await check('agents/a.agent.yaml', text), [
      'agents/a.agent.yaml:1:10: `version` must be 1, not the text "1" — Remove the quotes: `version: 1`.',
      'agents/a.agent.yaml:2:7: `name` must be a name of letters, digits, `-`, `_` and `.`, not the text "my ' +
        'agent" — For example, write `name: desk`.',
      'agents/a.agent.yaml:3:1: unknown key `modle` — Did you mean `model`?',
      'agents/a.agent.yaml:6:9: `model.name` must be text, not the number 7 — Put it in quotes: `name: "7"`.',
      'agents/a.agent.yaml:7:3: unknown key `temperature` in `model` — It belongs under `model.sampling`.',
      'agents/a.agent.yaml:8:28: `model.sampling.temperature` must be a number, 0 or more, not the text "1.0" — ' +
        'Remove the quotes: `temperature: 1.0`.',
      'agents/a.agent.yaml:8:42: `model.sampling.top_p` must be a number from 0 to 1, not the number 2 — For ' +
        'example, write `top_p: 0.95`.',
      'agents/a.agent.yaml:8:57: `model.sampling.max_tokens` must be an amount from 1 up: a whole number, or 8k, ' +
        '50M, not the text "many" — For example, write `max_tokens: 4096`.',
      'agents/a.agent.yaml:8:63: unknown key `top_q` in `model.sampling` — Did you mean `top_p`?',
      'agents/a.agent.yaml:9:12: `model.capture` must be a group of keys, not a list — Write its keys on separate ' +
        'lines, indented below it.',
      'agents/a.agent.yaml:10:3: `model.price.output` is missing — Add `output: 0.4`.',
      'agents/a.agent.yaml:10:19: `model.price.input` must be a price per million tokens, 0 or more, not the ' +
        'number -1 — For example, write `input: 0.1`.',
      'agents/a.agent.yaml:11:18: `model.endpoint_wait` must be a duration: seconds as a number, or 30s, 10 min, ' +
        '1h, not the text "soon" — For example, write `endpoint_wait: 10 min`.',
      'agents/a.agent.yaml:12:19: `model.headers.X-A` must be text, not the number 5 — Put it in quotes: `X-A: "5"`.',
      'agents/a.agent.yaml:13:1: `prompt` has no value; it must be the prompt, or the path of a .md or .txt file ' +
        '— For example, write `prompt: prompts/desk.md`, or remove the key.',
      'agents/a.agent.yaml:15:5: unknown key `modul` in `tools[0]` — Did you mean `module`?',
      'agents/a.agent.yaml:16:10: an MCP server needs `command` or `url` — Add `command: uvx` with `args:`, or ' +
        '`url: http://…`.',
      'agents/a.agent.yaml:17:10: an MCP server has either `command` or `url`, not both — Remove one of them.',
      'agents/a.agent.yaml:18:35: `args` has no effect with `url` — Remove it.',
      'agents/a.agent.yaml:19:15: `tools[4].builtin[0]` must be one of browser, terminal, code, spreadsheet, ' +
        'documents, calculator, files, search, vision, audio, not the text "terminl" — Did you mean `terminal`?',
      'agents/a.agent.yaml:20:14: `tools[5].builtin` must be a list of browser, terminal, code, spreadsheet, ' +
        'documents, calculator, files, search, vision, audio, not the text "terminal" — For example, write ' +
        '`builtin: [terminal, code]`.',
      'agents/a.agent.yaml:22:13: `shared` requires `mcp` — Remove it.',
      'agents/a.agent.yaml:23:5: `tools[7]` must be an entry with one of `module`, `mcp`, `builtin`, not the ' +
        'text "calculator" — For example, write `- builtin: [calculator]`.',
      'agents/a.agent.yaml:24:9: `answer` must be last_message, or one of { tool: … }, { tag: … }, ' +
        '{ regex: … }, not the text "lst_message" — For example, write `answer: last_message`.',
      'agents/a.agent.yaml:25:23: `context.reasoning` must be one of keep, drop, not the text "maybe" — Write ' +
        '`reasoning: keep`.',
      'agents/a.agent.yaml:25:40: `context.overflow` must be one of fail, drop_oldest, summarize, not the text ' +
        '"drop-oldest" — Did you mean `drop_oldest`?',
      'agents/a.agent.yaml:26:18: `limits.steps` must be a whole number, 1 or more, not the number 0 — For ' +
        'example, write `steps: 30`.',
      'agents/a.agent.yaml:26:21: `limits.tokens` has no value; it must be an amount from 1 up: a whole number, ' +
        'or 8k, 50M — For example, write `tokens: 200k`, or remove the key.',
      'agents/a.agent.yaml:26:31: unknown key `max_seconds` in `limits` — Did you mean `seconds`?',
      'agents/a.agent.yaml:27:1: unknown key `max_steps` — Did you mean `limits.steps`?',
      'agents/a.agent.yaml:28:15: `team.kind` must be one of workflow, handoff, leader, not the text "handof" — ' +
        'Did you mean `handoff`?',
      'agents/a.agent.yaml:28:32: `team.members` must be a list of at least one agent file, not a list — For ' +
        'example, write `members: [searcher.agent.yaml]`.',
      'agents/a.agent.yaml:29:1: unknown key `colour` — Available: version, name, description, model, prompt, ' +
        'tools, answer, context, limits, team, program.',
    ]);
  });

  it('of a newer version is not interpreted', async () => {
    assert.deepEqual(await check('a.agent.yaml', 'version: 2\nfuture: {}\n'), [
      'a.agent.yaml:1:10: this file has version 2, which requires a newer Rollout Studio — Update Rollout Studio. ' +
        'The installed one supports version 1.',
    ]);
  });

  it('is not interpreted after a syntax error', async () => {
    assert.deepEqual(
      await check('a.agent.yaml', 'version: 1\nnam: x\nmodel: { endpoint: ${env:X}, name: x }\nprompt: p\n'),
      [
        'a.agent.yaml:2:1: unknown key `nam` — Did you mean `name`?',
        'a.agent.yaml:3:21: inside [ ] and { }, text with ${…} must be in quotes — Add quotes: "${env:NAME}".',
      ],
    );
  });
});

describe('a batch file', () => {
  it('reports all its problems at once, with those of the files it names', async () => {
    const text = `agent: ../agents/bad.agent.yaml
dataset: { file: ../data/tasks.jsonl, answr: x }
attempts: 2.5
seed: -1
scorer: { kind: exakt }
stop: { failures: 150%, tokens: 50X }
concurrency: 0
notify: { url: foo }
hold_limit: [1]
order: sideways
pods: { image: x, counts: 3, isolation: pods }
`;
    const files = memoryFiles({
      ...FILES,
      'batches/b.batch.yaml': text,
      'agents/bad.agent.yaml': 'version: 1\nname: bad\nmodel: { endpoint: "demo:" }\nprompt: Hi {{task.nme}}\n',
    });
    assert.deepEqual(
      (await checkFiles(files, ['batches/b.batch.yaml'])).map((problem) => formatProblem(problem, '/w')),
      [
        'agents/bad.agent.yaml:3:1: `model.name` is missing — Add `name: Qwen/Qwen3-32B`.',
        'batches/b.batch.yaml:1:1: `version` is missing — Add `version: 1`.',
        'batches/b.batch.yaml:2:39: unknown key `answr` in `dataset` — Did you mean `answer`?',
        'batches/b.batch.yaml:3:11: `attempts` must be a whole number, 1 or more, not the number 2.5 — For ' +
          'example, write `attempts: 32`.',
        'batches/b.batch.yaml:4:7: `seed` must be a whole number, 0 or more, not the number -1 — For example, ' +
          'write `seed: 7`.',
        'batches/b.batch.yaml:5:17: `scorer.kind` must be one of exact, contains, regex, number, json, module, ' +
          'world, judge, not the text "exakt" — Did you mean `exact`?',
        'batches/b.batch.yaml:6:19: `stop.failures` must be a share: 50%, or a number from 0 to 1, not the text ' +
          '"150%" — For example, write `failures: 50%`.',
        'batches/b.batch.yaml:6:33: `stop.tokens` must be an amount from 1 up: a whole number, or 8k, 50M, not ' +
          'the text "50X" — For example, write `tokens: 50M`.',
        'batches/b.batch.yaml:7:14: `concurrency` must be auto, or a whole number, 1 or more, not the number 0 — ' +
          'For example, write `concurrency: auto`.',
        'batches/b.batch.yaml:8:16: `notify.url` must be an http or https URL — For example, write ' +
          '`https://example.org/hook`.',
        'batches/b.batch.yaml:9:13: `hold_limit` must be a duration: seconds as a number, or 30s, 10 min, 1h, ' +
          'not a list — For example, write `hold_limit: 1h`.',
        'batches/b.batch.yaml:10:8: `order` must be one of breadth, depth, not the text "sideways" — Write ' +
          '`order: breadth`.',
        'batches/b.batch.yaml:11:19: unknown key `counts` in `pods` — Did you mean `count`?',
        'batches/b.batch.yaml:11:41: `pods.isolation` must be one of shared, pod, not the text "pods" — Did you ' +
          'mean `pod`?',
      ],
    );
  });

  it('reports incomplete scorers', async () => {
    const scorer = async (text: string): Promise<string[]> =>
      (await check('batches/b.batch.yaml', FILES['batches/nightly.batch.yaml']!.replace('{ kind: exact }', text))).map(
        (line) => line.replace('batches/b.batch.yaml:7:', ''),
      );
    assert.deepEqual(await scorer('exact'), [
      '9: `scorer` must be a scorer, not the text "exact" — For example, write `scorer: { kind: exact }`.',
    ]);
    assert.deepEqual(await scorer('{ pattern: x }'), ['1: `scorer.kind` is missing — Add `kind: exact`.']);
    assert.deepEqual(await scorer('{ kind: regex }'), [
      '1: `scorer.pattern` is missing — Add `pattern: "Answer: (.*)"`.',
    ]);
    assert.deepEqual(await scorer('{ kind: exact, ignore_case: true }'), [
      '24: unknown key `ignore_case` in `scorer` — Available: kind, name, seconds.',
    ]);
    assert.deepEqual(await scorer('{ kind: judge, model: { endpoint: [], name: x }, rubric: Be strict, pass: 2 }'), [
      '43: `scorer.model.endpoint` must be a list of at least one URL, not a list — For example, write `endpoint: ' +
        '[http://gpu-1:8000/v1]`.',
      '83: `scorer.pass` must be a number from 0 to 1, not the number 2 — For example, write `pass: 0.5`.',
    ]);
    const judge = (more: string): Promise<string[]> =>
      scorer(`{ kind: judge, model: { endpoint: "http://j/v1", name: x }, rubric: Be strict, ${more} }`);
    assert.deepEqual(await judge('parts: [tone, length], scale: [0, 10]'), []);
    assert.deepEqual(await judge('parts: { tone: How polite it is }'), []);
    for (const none of ['[]', '{}'])
      assert.deepEqual(await judge(`parts: ${none}`), [
        '95: `parts` of the judge names no mark — For example, write `parts: [format, factuality]`.',
      ]);
    assert.deepEqual(await judge('parts: [tone], scale: [1]'), [
      '110: `scorer.scale` must be the lowest and the highest mark, two whole numbers, not a list — For example, ' +
        'write `scale: [1, 5]`.',
    ]);
    assert.deepEqual(await judge('parts: [tone], scale: [5, 1]'), [
      '110: the lowest mark of `scale` is not below the highest — For example, write `scale: [1, 5]`.',
    ]);
    assert.deepEqual(await judge('scale: [1, 5]'), [
      '95: `scale` is that of marks, but the judge has no `parts` — Add `parts`, or remove `scale`.',
    ]);
    assert.deepEqual(await scorer('{ kind: module, module: score.ts }'), [
      '33: file score.ts not found — Create the file, or fix the path, which is relative to b.batch.yaml.',
    ]);
  });

  it('has groups that can be, and a filter of them that compiles', async () => {
    const group = async (text: string): Promise<string[]> => {
      const file = FILES['batches/nightly.batch.yaml'];
      const problems = await check('batches/g.batch.yaml', `${file}\ngroup: ${text}\n`);
      return problems.map((problem) => problem.replace(/^[^:]+:\d+:/, ''));
    };
    assert.deepEqual(await group('{ size: 4, filter: spread > 0 && drift == 0 }'), []);
    assert.deepEqual(await group('{ size: 4, min_usable: 5 }'), [
      '31: a group of 4 never has 5 usable members — Lower `min_usable`.',
    ]);
    assert.deepEqual(await group('{ size: 1000, extra: 25 }'), [
      '16: a group has at most 1024 members, not 1025 — Lower `size` or `extra`.',
    ]);
    assert.deepEqual(await group('{ filter: size > 1 && spred > 0 }'), [
      '30: column 13 of `filter`: there is no variable "spred" — Write a CEL expression over size, mean, spread, ' +
        'passed, truncated, duplicates, drift, disagreement, tokens, such as spread > 0 && truncated < 0.5.',
    ]);
  });

  it('says that a limit of cost does nothing without a price', async () => {
    const nightly = FILES['batches/nightly.batch.yaml'] ?? '';
    const agent = (FILES['agents/desk.agent.yaml'] ?? '').replace(/^ {2}price: .*\n/m, '');
    const files = {
      ...FILES,
      'agents/free.agent.yaml': agent,
      'batches/priced.batch.yaml': nightly.replace('tokens: 50M', 'cost_per_task: 0.5'),
      'batches/free.batch.yaml': nightly
        .replace('tokens: 50M', 'cost_per_task: 0.5')
        .replace('desk.agent', 'free.agent'),
    };
    assert.deepEqual(await checkFiles(memoryFiles(files), ['batches/priced.batch.yaml']), []);
    const problems = (await checkFiles(memoryFiles(files), ['batches/free.batch.yaml'])).map((one) =>
      formatProblem(one, '/w'),
    );
    assert.deepEqual(
      problems.map((problem) => problem.replace(/^[^:]+:\d+:\d+: /, '')),
      [
        'warning: the model of the agent has no `price`, so its attempts have no cost — Add `price` to `model` in ' +
          'the agent file, or write `tokens_per_task`.',
      ],
    );
  });

  it('has a curriculum that does something', async () => {
    const curriculum = async (text: string): Promise<string[]> => {
      const file = FILES['batches/nightly.batch.yaml'];
      const problems = await check('batches/c.batch.yaml', `${file}\ncurriculum: ${text}\n`);
      return problems.map((problem) => problem.replace(/^[^:]+:\d+:\d+: /, ''));
    };
    assert.deepEqual(await curriculum('{ by: last, keep: [10%, 0.9], order: hard_first }'), []);
    assert.deepEqual(await curriculum('{ by: last, keep: [10%, 90%], refresh: 50 }'), []);
    assert.deepEqual(await curriculum('{ by: last, order: hard_first, refresh: 50 }'), [
      '`refresh` has no band to move — Add `keep: [10%, 90%]`, or remove `refresh`.',
    ]);
    assert.deepEqual(await curriculum('{ by: last }'), [
      'the curriculum does nothing — Add `keep: [10%, 90%]` or `order: hard_first`.',
    ]);
    assert.deepEqual(await curriculum('{ by: last, keep: [90%, 10%] }'), [
      'the lowest pass rate is above the highest — Write `keep: [10%, 90%]`.',
    ]);
    assert.deepEqual(await curriculum('{ by: last, keep: 10% }'), [
      '`curriculum.keep` must be the lowest and the highest pass rate, not the text "10%" — For example, write ' +
        '`keep: [10%, 90%]`.',
    ]);
  });

  it('that is empty or another kind of file is reported', async () => {
    const keys =
      'Available keys: version, agent, world, dataset, attempts, mix, seed, scorer, stop, retry, target, ' +
      'concurrency, notify, share, order, priority, queue, hold_limit, sandbox, curriculum, group, pods.';
    assert.deepEqual(await check('b.batch.yaml', ''), [
      `b.batch.yaml:1:1: the file is empty — Start with \`version: 1\`. ${keys}`,
    ]);
    assert.deepEqual(await check('b.batch.yaml', '- a\n'), [
      `b.batch.yaml:1:1: the file must be a group of keys, not a list — Start with \`version: 1\`. ${keys}`,
    ]);
    assert.deepEqual(
      (await checkFiles(memoryFiles(FILES), ['batches/nigtly.batch.yaml'])).map((problem) =>
        formatProblem(problem, '/w'),
      ),
      [
        'batches/nigtly.batch.yaml:1:1: file /w/batches/nigtly.batch.yaml not found — Did you mean ' +
          '`nightly.batch.yaml`?',
      ],
    );
  });
});

describe('secrets', () => {
  const model = (line: string): string =>
    `version: 1\nname: a\nprompt: p\nmodel:\n  endpoint: "demo:"\n  name: m\n  ${line}\n`;
  it('are refused anywhere, and never repeated', async () => {
    const hint = (name: string): string =>
      `Move it to an environment variable and write "\${env:${name}}" here. Since it was stored in a file, revoke it ` +
      'at its provider.';
    const secretMessage = (key: string): string =>
      `\`${key}\` looks like a secret; files may only contain secrets as \${env:…}`;
    assert.deepEqual(await check('a.agent.yaml', model('api_key: sk-abcdefghijklmnopqrst')), [
      `a.agent.yaml:7:12: ${secretMessage('model.api_key')} — ${hint('API_KEY')}`,
    ]);
    assert.deepEqual(await check('a.agent.yaml', model('headers: { Authorization: Bearer 9f8e7d6c5b4a39281706f5 }')), [
      `a.agent.yaml:7:29: ${secretMessage('model.headers.Authorization')} — ${hint('AUTHORIZATION')}`,
    ]);
    const env = await check(
      'a.agent.yaml',
      `${model('price: { input: 1, output: 1 }')}tools:\n  - mcp: { command: x, args: ` +
        '[--token=ghp_abcdefghijklmnopqrstuv], env: { KEY: abcdefgh12345678ijkl } }\n',
    );
    assert.deepEqual(
      env.map((text) => text.split(' holds')[0]),
      [
        'a.agent.yaml:9:31: `tools[0].mcp.args[0]` looks like a secret; files may only contain secrets as ${env:…} ' +
          '— Move it to an environment variable and write "${env:API_KEY}" here. Since it was stored in a file, ' +
          'revoke it at ' +
          'its provider.',
        'a.agent.yaml:9:80: `tools[0].mcp.env.KEY` looks like a secret; files may only contain secrets as ' +
          '${env:…} — Move it to an environment variable and write "${env:KEY}" here. Since it was stored in a ' +
          'file, revoke ' +
          'it at its provider.',
      ],
    );
    const wrong = await check(
      'a.agent.yaml',
      model('api_key: [sk-abcdefghijklmnopqrst]').replace('"demo:"', 'sk-abcdefghijklmnopqrst'),
    );
    assert.ok(wrong.length >= 3);
    assert.doesNotMatch(wrong.join('\n'), /abcdefghij/);
  });
  it('are distinguished from references, dummies, and names', () => {
    for (const fine of [
      '${env:OPENAI_API_KEY}',
      'Bearer ${env:TOKEN}',
      'EMPTY',
      'token',
      '/usr/local/bin:/usr/bin',
      'application/json; charset=utf-8',
      'Qwen2.5-72B-Instruct',
      'https://host/v1',
    ]) {
      assert.equal(looksSecret(fine, true), false, fine);
    }
    assert.equal(looksSecret('abcdefgh12345678ijkl', false), false);
    assert.equal(looksSecret('https://me:pass@host/v1', false), true);
    assert.equal(looksSecret('https://me:${env:PASS}@host/v1', false), false);
  });
  it('with misspelled references are reported', async () => {
    assert.deepEqual(await check('a.agent.yaml', model('api_key: ${API_KEY}')), [
      'a.agent.yaml:7:12: warning: `${API_KEY}` is not replaced — For an environment variable, write ${env:API_KEY}.',
    ]);
    assert.deepEqual(await check('a.agent.yaml', model('api_key: ${env.API_KEY}')), [
      'a.agent.yaml:7:12: warning: `${env.API_KEY}` is not replaced — For an environment variable, write ' +
        '${env:API_KEY}.',
    ]);
  });
});

describe('checkFiles', () => {
  it('knows kinds by their names, and reports a problem once', async () => {
    const files = memoryFiles({
      ...FILES,
      'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace('name: desk', 'name: 5'),
      'x.csv': 'a,b\n1\n',
      'x.json': '[1]',
      'x.txt': '',
      'x.jsonl': '{}\n{',
      'latin.csv': new Uint8Array([0x61, 0x0a, 0xe9]),
    });
    const problems = await checkFiles(files, [
      'batches/nightly.batch.yaml',
      'agents/desk.agent.yaml',
      'worlds/library.world.yaml',
      'data/tasks.jsonl',
      'x.csv',
      'x.json',
      'x.txt',
      'x.jsonl',
      'latin.csv',
      'no.csv',
    ]);
    assert.deepEqual(
      problems.map((problem) => formatProblem(problem, '/w').split(' — ')[0]),
      [
        'agents/desk.agent.yaml:2:7: `name` must be a name, not the number 5',
        'latin.csv:2:1: the file is not UTF-8 text',
        'no.csv:1:1: file /w/no.csv not found',
        'x.csv:2:1: this row has 1 cell, the header 2',
        'x.json:1:2: a record must be an object of columns',
        "x.jsonl:2:2: invalid JSON: expected property name or '}'",
        'x.txt:1:1: unknown file type: x.txt',
      ],
    );
  });
  it('finds the files of a workspace', async () => {
    const files = memoryFiles({
      ...FILES,
      'node_modules/p/a.agent.yaml': '',
      '.git/b.agent.yaml': '',
      'c.agent.yml': '',
    });
    assert.deepEqual(await configFilesUnder(files, '.'), [
      '/w/agents/desk.agent.yaml',
      '/w/batches/nightly.batch.yaml',
      '/w/c.agent.yml',
      '/w/worlds/library.world.yaml',
    ]);
  });
});
