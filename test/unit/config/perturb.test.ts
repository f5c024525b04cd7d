// The rules of a world file: their problems with what to do, and what a submission has of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBatch, loadWorld } from '../../../src/config/load.ts';
import { rulesOf } from '../../../src/config/submission/rule.ts';
import { codeSha, configSha, modulesOf, type Submission } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const HEAD = 'version: 1\nname: library\nkind: module\nmodule: library.ts\nperturb:\n';
const FILES = { 'library.ts': 'export function open() {}', 'faults.ts': 'export function stale_rows() {}' };

async function problemsOf(...rules: readonly string[]): Promise<string[]> {
  const text = HEAD + rules.map((rule) => `  - ${rule}\n`).join('');
  const { problems } = await loadWorld(memoryFiles({ ...FILES, 'w.world.yaml': text }), 'w.world.yaml');
  return problems.map(
    ({ line, column, endColumn, message, hint }) => `${line}:${column}-${endColumn} ${message} — ${hint}`,
  );
}

describe('the rules of a world', () => {
  it('may have every effect with its arguments, or a function', async () => {
    const rules = [
      '{ name: flaky, when: \'tool.name == "renew_loan"\', p: 0.1, effect: error, args: { class: tool_error, ' +
        'message: "503", wait: 2s } }',
      '{ name: slow, effect: timeout, args: { wait: true } }',
      '{ name: late, effect: delay, args: { wait: 5 } }',
      '{ name: nothing, effect: empty }',
      '{ name: less, effect: drop, args: { fields: [due], items: 2 } }',
      '{ name: page, when: \'tool.name.startsWith("list_")\', effect: truncate, args: { items: 5, more: next } }',
      '{ name: old, effect: stale }',
      '{ name: note, effect: text, args: { text: closed, place: after } }',
      '{ name: own, module: faults.ts, export: stale_rows, args: { rows: 2 } }',
    ];
    assert.deepEqual(await problemsOf(...rules), []);
  });

  const cases: readonly [name: string, rules: readonly string[], expected: readonly string[]][] = [
    ['no name', ['{ effect: empty }'], ['6:5-22 `perturb[0].name` is missing — Add `name: desk`.']],
    [
      'two names',
      ['{ name: a, effect: empty }', '{ name: a, effect: stale }'],
      [
        '7:13-14 two rules are named `a` — Rename one of them: trajectories and reports name the rule of each ' +
          'injected fault.',
      ],
    ],
    [
      'neither effect nor module',
      ['{ name: a }'],
      ['6:5-16 the rule `a` needs `effect` or `module` — Add `effect: error`.'],
    ],
    [
      'both',
      ['{ name: a, effect: empty, module: faults.ts, export: stale_rows }'],
      ['6:5-70 a rule has either `effect` or `module`, not both — Remove one of them.'],
    ],
    [
      'a module without its function',
      ['{ name: a, module: faults.ts }'],
      ['6:5-35 `module` needs `export` — Add `export:` with the name of its function.'],
    ],
    [
      'a missing module',
      ['{ name: a, module: fault.ts, export: x }'],
      ['6:24-32 file fault.ts not found — Did you mean `faults.ts`?'],
    ],
    [
      'an unknown effect',
      ['{ name: a, effect: eror }'],
      [
        '6:24-28 `perturb[0].effect` must be one of error, timeout, delay, empty, drop, truncate, stale, text, not ' +
          'the text "eror" — Did you mean `error`?',
      ],
    ],
    [
      'a probability out of range',
      ['{ name: a, effect: empty, p: 10 }'],
      ['6:34-36 `perturb[0].p` must be a probability from 0 to 1, not the number 10 — For example, write `p: 0.1`.'],
    ],
    [
      'an argument of another effect',
      ['{ name: a, effect: delay, args: { wait: 1s, message: x } }'],
      ['6:49-56 `delay` has no argument `message` — Available: wait.'],
    ],
    [
      'an argument where there are none',
      ['{ name: a, effect: empty, args: { items: 1 } }'],
      ['6:39-44 `empty` has no argument `items` — It has none: remove it.'],
    ],
    [
      'a missing argument',
      ['{ name: a, effect: delay }'],
      ['6:5-31 `delay` needs the argument `wait` — For example, write `args: { wait: 5s }`.'],
    ],
    [
      'nothing to leave out',
      ['{ name: a, effect: drop, args: {} }'],
      ['6:36-38 `drop` needs `fields` or `items` — Add what to leave out: `args: { fields: [due] }`.'],
    ],
    [
      'an argument of the wrong type',
      ['{ name: a, effect: truncate, args: { items: few } }'],
      ['6:49-52 `args.items` must be a whole number, 0 or more — For example, write `args: { items: 5 }`.'],
    ],
    [
      'a class that no tool has',
      ['{ name: a, effect: error, args: { class: limit } }'],
      [
        '6:46-51 `args.class` must be one of tool_error, world_error, invalid_arguments, timeout — For example, ' +
          'write `args: { class: tool_error }`.',
      ],
    ],
    [
      'a condition with an error, at its column',
      ['{ name: a, when: \'tool.name == "x" && tool.nam == 2\', effect: empty }'],
      [
        '6:48-51 column 26 of `when`: tool has no "nam"; it has name, arguments, effect, result, error, ms, ' +
          'repeats, reward, prediction, injected, made, source — Write a CEL expression over event, step, tool, ' +
          'message, observation, agent, side, task, attempt, part, usage, world, reward, verdicts, status, such as ' +
          'tool.name == "search" && tool.ms > 500.',
      ],
    ],
    [
      'words to a world that no model plays',
      ['{ name: a, say: It fails }'],
      [
        '6:21-29 `say` is for worlds that a model plays, and no model plays this one — Use an `effect`, or ' +
          '`kind: simulated`.',
      ],
    ],
    [
      'a check of nothing that was said',
      ['{ name: a, effect: empty, check: observation.failed }'],
      ['6:38-56 `check` has no effect without `say` — Add the sentence that the world model must obey.'],
    ],
    [
      'a condition over what is not known yet',
      ["{ name: a, when: 'usage.input_tokens > 2', effect: empty }"],
      [
        '6:22-46 a rule is decided before the call, when `usage` cannot be used — Use tool, step, agent, task, ' +
          'attempt.',
      ],
    ],
  ];
  for (const [name, rules, expected] of cases)
    it(`report ${name}`, async () => assert.deepEqual(await problemsOf(...rules), expected));
});

describe('the rules of a submission', () => {
  const files = memoryFiles({
    ...FILES,
    'w.world.yaml':
      `${HEAD}  - { name: slow, effect: timeout, args: { wait: true } }\n` +
      '  - { name: own, p: 0.5, module: faults.ts, export: stale_rows }\n',
    'a.agent.yaml': 'version: 1\nname: desk\nprompt: Work.\nmodel: { endpoint: "demo:", name: m }\n',
    't.jsonl': '{"id": "one", "question": "q", "answer": "a"}\n',
    'b.batch.yaml':
      'version: 1\nagent: a.agent.yaml\nworld: w.world.yaml\ndataset: { file: t.jsonl }\nscorer: { kind: exact }\n',
  });
  const build = async (options: { noPerturb?: boolean } = {}): Promise<Submission> => {
    const { value, problems } = await loadBatch(files, 'b.batch.yaml', options);
    assert.deepEqual(problems, []);
    assert.ok(value);
    const { submission } = await buildSubmission(value, {
      files,
      product: '0',
      env: () => undefined,
      simulation: NO_SIMULATION,
      git: () => Promise.resolve(undefined),
      scenarios: () => Promise.reject(new Error('no code world')),
      bundle: (path) =>
        Promise.resolve({
          file: path.replace(/.*\//, ''),
          code: new Uint8Array(),
          map: new Uint8Array(),
          bundleSha: (path.endsWith('faults.ts') ? 'f' : '0').repeat(64),
          mapSha: '1'.repeat(64),
        }),
    });
    return submission;
  };

  it('have their defaults, and the code of their functions', async () => {
    const submission = await build();
    assert.deepEqual(rulesOf(submission), [
      { name: 'slow', p: 1, effect: 'timeout', args: { wait_seconds: 'limit' } },
      {
        name: 'own',
        p: 0.5,
        effect: 'function',
        module: { file: 'faults.ts', path: '/w/faults.ts', bundle: 'f'.repeat(64), map: '1'.repeat(64) },
        export: 'stale_rows',
      },
    ]);
    assert.deepEqual(
      modulesOf(submission).map(({ file }) => file),
      ['library.ts', 'faults.ts'],
    );
  });

  it('stay in a submission where they do not apply', async () => {
    const [on, off] = [await build(), await build({ noPerturb: true })];
    assert.deepEqual([on.no_perturb, off.no_perturb], [undefined, true]);
    assert.deepEqual(rulesOf(off), []);
    assert.deepEqual(off.world, on.world);
    assert.notEqual(configSha(off), configSha(on));
    assert.equal(codeSha(off), codeSha(on));
  });
});
