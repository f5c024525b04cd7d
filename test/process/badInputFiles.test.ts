/** Invalid files and arguments: exit code 2, one text with the place and the hint, and no batch. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BatchText, parseDocument, WorkspaceBench } from '../support/workspace.ts';

interface Refused {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly details?: { readonly problems?: { readonly line: number; readonly column: number }[] };
  };
}

describe('rollout run refuses', () => {
  let bench: WorkspaceBench;
  before(async () => {
    bench = new WorkspaceBench();
    bench.write(
      'tools.ts',
      "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\nexport const fine = tool({ description: " +
        "'Is fine.', input: z.object({}), run: () => 42 });\n",
    );
    await bench.rollout(['batches']); // one server for all cases
  });
  after(() => bench.close());

  /** Runs it twice, for people and for programs. Both report the same. */
  async function refused(args: readonly string[], code: string, env: Record<string, string> = {}): Promise<string> {
    const [people, program] = await Promise.all([bench.rollout(args, env), bench.rollout([...args, '--json'], env)]);
    assert.deepEqual([people.code, program.code], [2, 2], people.stderr);
    assert.equal(people.stdout, '');
    const { error } = parseDocument<Refused>(program.stdout, program.stderr);
    assert.equal(error.code, code);
    // An error in a file begins with its place.
    const prefix = code === 'config' ? '' : 'rollout: ';
    assert.equal(people.stderr, `${prefix}${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}\n`);
    return people.stderr.slice(prefix.length, -1);
  }

  it('broken YAML, wrong types, unknown keys, and missing files, all of them at once', async () => {
    const file = bench.batch('many', {
      agent: 'limits: { stepss: 5 }\n',
      tools: '[{ module: no.ts }]',
      batch: 'seed: soon\n',
    });
    bench.write(
      'many.batch.yaml',
      'version: 1\nagent: many.agent.yaml\ndataset: { file: mny.jsonl }\nattempts: many\nscorer: { kind: exact }\n',
    );
    assert.equal(
      await refused(['run', file], 'config'),
      [
        'many.agent.yaml:5:19: file no.ts not found — Create the file, or fix the path, which is relative to ' +
          'many.agent.yaml.',
        'many.agent.yaml:6:11: unknown key `stepss` in `limits` — Did you mean `steps`?',
        'many.batch.yaml:3:18: file mny.jsonl not found — Did you mean `many.jsonl`?',
        'many.batch.yaml:4:11: `attempts` must be a whole number, 1 or more, not the text "many" — For example, ' +
          'write `attempts: 32`.',
      ].join('\n'),
    );
    bench.batch('torn', { agent: 'limits: { steps: 5\n' });
    assert.match(
      await refused(['run', 'torn.batch.yaml'], 'config'),
      /^torn\.agent\.yaml:7:1: a \[ or \{ is not closed before this line — Close it with \] or \}/,
    );
    assert.match(
      await refused(['run', 'mny.batch.yaml'], 'config'),
      /^mny\.batch\.yaml:1:1: file .*mny\.batch\.yaml not found — Did you mean `many\.batch\.yaml`\?$/,
    );
  });

  it('a variable that is not set, and says where it is named', async () => {
    const file = bench.batch('env', {
      model: '{ endpoint: "http://127.0.0.1:9/v1", name: m, api_key: "${env:NO_SUCH_KEY}" }',
    });
    assert.match(
      await refused(['run', file], 'config'),
      /^env\.agent\.yaml:3:63: the environment variable NO_SUCH_KEY is not set — Set NO_SUCH_KEY where you submit/,
    );
  });

  it('a file to import that does not exist', async () => {
    for (const words of [['import'], ['agent', 'import'], ['tool', 'openapi', '--out', 'x.ts']])
      assert.match(
        await refused([...words, 'gone.json'], 'not_found'),
        /^File not found: .*gone\.json\. Check the path\.$/,
      );
  });

  it('an invalid record far down the dataset', async () => {
    const file = bench.batch('far', {});
    for (const bad of [3_000, 11_000]) {
      const lines = Array.from({ length: 12_000 }, (_, index) =>
        index + 1 === bad
          ? '{"id": oops}'
          : JSON.stringify({ id: `t${index + 1}`, question: 'answer 42', answer: '42' }),
      );
      bench.write('far.jsonl', lines.join('\n'));
      assert.equal(
        await refused(['run', file], 'config'),
        `far.jsonl:${bad}:1: invalid JSON: unexpected token 'o' — Fix the record: use double quotes for ` +
          'keys and strings, and no trailing comma.',
      );
    }
  });

  it('a module that does not build', async () => {
    const file = bench.batch('syntax', { tools: '[{ module: broken.ts }]' });
    bench.write('broken.ts', 'import { tool } from "rollout-studio";\nexport const x = tool({ ;\n');
    assert.equal(
      await refused(['run', file], 'config'),
      'broken.ts:2:25: Expected identifier but found ";". Fix the module: it must build before a rollout can use it.',
    );
    bench.write('broken.ts', 'import { x } from "no-such-package";\nexport const y = x;\n');
    assert.match(
      await refused(['run', file], 'config'),
      /^broken\.ts:1:19: Could not resolve "no-such-package"\. Install the package in the workspace/,
    );
  });

  it('invalid arguments', async () => {
    const file = bench.batch('call', {});
    assert.equal(await refused(['run'], 'usage'), 'usage: rollout run BATCH.yaml');
    assert.equal(
      await refused(['run', file, '--attempts', 'none'], 'usage'),
      '--attempts must be an integer of at least 1, not “none”.',
    );
    assert.match(
      await refused(['run', file, '--nope'], 'usage'),
      /^Unknown option --nope\. See the options with rollout run --help\.$/,
    );
    assert.equal(
      await refused(['run', file, '--attempt', '3'], 'usage'),
      'Unknown option --attempt. Did you mean --attempts? See the options with rollout run --help.',
    );
    assert.equal(
      await refused(['batchs'], 'usage'),
      'Unknown command “batchs”. Did you mean “batches”? List all commands with rollout --help.',
    );
    assert.match(
      await refused(['frobnicate'], 'usage'),
      /^Unknown command “frobnicate”\. List all commands with rollout --help\.$/,
    );
    assert.match(
      await refused(['show', 'b0123456789/one/1'], 'not_found'),
      /^There is no batch b0123456789 here\. Run “rollout batches” to list the batches\.$/,
    );
    assert.match(
      await refused(['run', file, '--task', 'two'], 'config'),
      /^call\.batch\.yaml:3:18: call\.jsonl has no task `two` — The first tasks are one\.$/,
    );
  });

  it('without leaving a batch behind', async () => {
    const { stdout } = await bench.rollout(['batches', '--json']);
    assert.deepEqual(JSON.parse(stdout), { batches: [] });
  });
});

describe('a module that throws when it is loaded', () => {
  it('ends its attempts without a score, and the run says why', async () => {
    const bench = new WorkspaceBench();
    try {
      const text: BatchText = { tools: '[{ module: throws.ts }]', tasks: { one: 'answer 42', two: 'answer 42' } };
      bench.write('throws.ts', "const never = 1;\nthrow new Error('the library is closed');\nexport { never };\n");
      const { code, report, stderr } = await bench.runBatch(bench.batch('load', text));
      assert.deepEqual([code, report.unscored, report.failed], [1, 2, 0]);
      assert.match(
        stderr,
        /^2 attempts were left without a score: throws\.ts:2:7: cannot load the module: the library is closed/m,
      );
    } finally {
      await bench.close();
    }
  });
});
