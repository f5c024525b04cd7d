// What turns one thing into another.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codeActions } from '../../../../src/language/features/codeActions.ts';
import { Lines } from '../../../../src/language/workspace/text.ts';
import { DESK, workspaceOf } from '../workspaceKit.ts';

const INLINE = '/w/agents/inline.agent.yaml';

async function actionsAt(file: string, text: string, at: string): Promise<{ title: string; changes: unknown[] }[]> {
  const position = new Lines(text).positionAt(text.indexOf(at));
  const found = await codeActions(
    workspaceOf({ ...DESK, [file]: text }),
    file,
    { start: position, end: position },
    { problems: [], mayCreate: true },
  );
  return found.map(({ title, edit }) => ({
    title,
    changes: (edit?.documentChanges ?? []).map((change) =>
      'edits' in change
        ? [change.textDocument.uri, ...change.edits.map((one) => ('newText' in one ? one.newText : ''))]
        : change.kind,
    ),
  }));
}

describe('refactorings', () => {
  it('move a prompt into a separate file', async () => {
    const [extract] = await actionsAt(INLINE, DESK[INLINE] ?? '', 'Find a book');
    assert.deepEqual(extract, {
      title: 'Extract the prompt to ../prompts/inline.md',
      changes: [
        'create',
        ['file:///w/prompts/inline.md', 'Find a book in {{task.meta.city}} with find_books, then submit it.\n'],
        ['file:///w/agents/inline.agent.yaml', '../prompts/inline.md'],
      ],
    });
    assert.deepEqual(
      await actionsAt(
        INLINE,
        (DESK[INLINE] ?? '').replace(/prompt: \|\n.*\n/, 'prompt: ../prompts/desk.md\n'),
        'prompt',
      ),
      [],
    );
  });
  it("move the prompt of a part of the mix into a file with the part's name", async () => {
    const file = '/w/batches/mixed.batch.yaml';
    const batch = (part: string): string =>
      'version: 1\nagent: ../agents/desk.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\n' +
      `scorer: { kind: exact }\nmix:\n  - { share: 50% }\n  - { share: 50%, ${part}prompt: Be short. }\n`;
    for (const [part, name] of [
      ['name: brief, ', 'mixed-brief'],
      ['', 'mixed-part-2'],
    ] as const) {
      const [extract] = await actionsAt(file, batch(part), 'Be short');
      assert.deepEqual(extract, {
        title: `Extract the prompt to ../prompts/${name}.md`,
        changes: [
          'create',
          [`file:///w/prompts/${name}.md`, 'Be short.\n'],
          ['file:///w/batches/mixed.batch.yaml', `../prompts/${name}.md`],
        ],
      });
    }
  });
  it('pick an unused name', async () => {
    const file = '/w/agents/desk.agent.yaml';
    const [extract] = await actionsAt(file, (DESK[file] ?? '').replace('"../prompts/desk.md"', 'Go on.'), 'Go on');
    assert.equal(extract?.title, 'Extract the prompt to ../prompts/desk-2.md');
  });
  it('create a batch for an agent without one, with the existing tasks', async () => {
    const text = 'version: 1\nname: lone\nmodel: { endpoint: "demo:", name: demo }\nprompt: ../prompts/desk.md\n';
    const [add, ...others] = await actionsAt('/w/agents/lone.agent.yaml', text, 'name: lone');
    assert.equal(add?.title, 'Add to the new batch ../batches/lone.batch.yaml');
    assert.deepEqual(add.changes, [
      'create',
      [
        'file:///w/batches/lone.batch.yaml',
        'version: 1\nagent: ../agents/lone.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\nattempts: ' +
          '4\nscorer: { kind: exact }\n',
      ],
    ]);
    assert.deepEqual(others[0], {
      title: 'Replace the agent of ../batches/one.batch.yaml',
      changes: [['file:///w/batches/one.batch.yaml', '../agents/lone.agent.yaml']],
    });
    assert.equal(others.length, 2);
  });
  it('replace the agent only in those batches that run another one', async () => {
    assert.deepEqual(
      (await actionsAt(INLINE, DESK[INLINE] ?? '', 'name: inline')).map(({ title }) => title),
      ['Replace the agent of ../batches/one.batch.yaml'],
    );
  });
});
