import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { productDifference, revisionDifferences } from '../../../src/config/revisions.ts';
import type { Submission, SubmittedTools } from '../../../src/config/submission.ts';
import { plainSubmission } from '../../support/rolloutServer.ts';

const sha = (digit: string): string => digit.repeat(64);
const module = (file: string, bundle: string, path?: string): Extract<SubmittedTools, { kind: 'module' }> => ({
  kind: 'module',
  module: { file, bundle: sha(bundle), map: sha(bundle), ...(path === undefined ? {} : { path }) },
});

function changed(change: (value: Submission) => Submission): string[] {
  const before = {
    ...plainSubmission(),
    agent: {
      ...plainSubmission().agent,
      tools: [module('tools/a.ts', '1'), { kind: 'builtin', name: 'calculator' } as const],
    },
  };
  return revisionDifferences(before, change(structuredClone(before)));
}
const agent = (value: Submission, part: Partial<Submission['agent']>): Submission => ({
  ...value,
  agent: { ...value.agent, ...part },
});

describe('revisions', () => {
  it('name the differences that matter', () => {
    assert.deepEqual(
      changed((value) => value),
      [],
    );
    assert.deepEqual(
      changed((value) => ({
        ...value,
        attempts: 99,
        name: 'other',
        file: 'other',
        seed: 5,
        git: { commit: 'c0ffee', dirty: true },
        concurrency: 3,
      })),
      [],
      'how a batch is run',
    );
    assert.deepEqual(
      changed((value) =>
        agent(value, {
          file: 'elsewhere.yaml',
          tools: [
            module('tools/a.ts', '1', '/home/a.ts'),
            { kind: 'builtin', name: 'calculator', position: { file: 'x', line: 3, column: 1 } },
          ],
        }),
      ),
      [],
      'where it stands',
    );
    assert.deepEqual(
      changed((value) =>
        agent(value, { model: { ...value.agent.model, name: 'large', sampling: { temperature: 0.5 } } }),
      ),
      [
        `agent.model.name: ${plainSubmission().agent.model.name} → large`,
        'agent.model.sampling.temperature added: 0.5',
      ],
    );
    assert.deepEqual(
      changed((value) => agent(value, { prompt: { text: 'a\nlong one' } })),
      ['agent.prompt changed'],
    );
    assert.deepEqual(
      changed((value) => agent(value, { limits: { ...value.agent.limits, steps: 7 } })),
      [`agent.limits.steps: ${plainSubmission().agent.limits.steps} → 7`],
    );
  });

  it('name code by its bundle, and tools by their names', () => {
    assert.deepEqual(
      changed((value) => agent(value, { tools: [module('tools/a.ts', '2')] })),
      ['agent.tools: calculator removed', 'code of tools/a.ts changed'],
    );
    assert.deepEqual(
      changed((value) => agent(value, { tools: [...value.agent.tools, module('tools/b.ts', '3')] })),
      ['agent.tools: tools/b.ts added'],
    );
    const world = (bundle: string): Submission['world'] => ({
      name: 'w',
      file: 'w.yaml',
      kind: 'module',
      module: module('w.ts', bundle).module,
      perturb: [],
    });
    const before = { ...plainSubmission(), world: world('4') };
    assert.deepEqual(revisionDifferences(before, { ...before, world: world('5') }), ['code of w.ts changed']);
    assert.deepEqual(revisionDifferences(before, plainSubmission()), ['world removed']);
  });

  it('differ for the same tool of a server that is started with other arguments', () => {
    const server = (command: string): SubmittedTools => ({
      kind: 'mcp',
      name: 'files',
      server: { command, args: [], env: {} },
      shared: false,
    });
    const before = agent(plainSubmission(), { tools: [server('one')] });
    assert.deepEqual(revisionDifferences(before, agent(plainSubmission(), { tools: [server('two')] })), [
      'agent.tools files.server.command: one → two',
    ]);
  });

  it('truncate a long list of differences, and say so', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`h${index}`, 'x']));
    const lines = changed((value) => agent(value, { model: { ...value.agent.model, headers: many } }));
    assert.equal(lines.length, 101);
    assert.equal(lines.at(-1), 'and 50 more');
  });

  it('name another version of the product', () => {
    assert.deepEqual(productDifference({ ...plainSubmission(), product: 'rollout-studio 0.0.1' }), [
      'product: rollout-studio 0.0.1 → rollout-studio dev',
    ]);
  });
});
