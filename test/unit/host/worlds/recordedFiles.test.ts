import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { agentWithoutTools, batchInWorld, fromList } from '../../../../src/host/worlds/recorded/recordedFiles.ts';

describe('the files of a batch in a recorded world', () => {
  it('list recordings as YAML, whatever the IDs of tasks are', () => {
    assert.equal(fromList(['b0123456789abcdefg']), '[b0123456789abcdefg]');
    const odd = ['b0123456789abcdefg/a task: #1, [x]', 'r0123456789abcdefg'];
    assert.deepEqual(parse(`from: ${fromList(odd)}\n`), { from: odd });
    assert.deepEqual(parse(`from: ${fromList(odd.slice(0, 1))}\n`), { from: odd.slice(0, 1) });
  });

  it('keep the batch, with the world, and a scorer that needs no verifier', () => {
    const text =
      'version: 1\nname: nightly\nagent: ../agents/desk.agent.yaml   # the clerk\n' +
      'world: ../worlds/library.world.yaml\ndataset: { file: ../data/tasks.jsonl }\nscorer: { kind: world }\n';
    assert.equal(
      batchInWorld(text, { world: '../worlds/again.world.yaml' }),
      'version: 1\nagent: ../agents/desk.agent.yaml # the clerk\nworld: ../worlds/again.world.yaml\n' +
        'dataset: { file: ../data/tasks.jsonl }\nscorer: { kind: contains }\n',
    );
    const changed = batchInWorld('agent: a.agent.yaml\nscorer: { kind: exact }\n', {
      world: 'w.world.yaml',
      agent: 'b.agent.yaml',
    });
    assert.deepEqual(parse(changed ?? ''), {
      agent: 'b.agent.yaml',
      scorer: { kind: 'exact' },
      world: 'w.world.yaml',
    });
  });

  it('keep the agent without its tools', () => {
    assert.equal(
      agentWithoutTools('name: a # me\ntools:\n  - mcp: { command: node }\nprompt: |\n  Do it.\n  Well.\n'),
      'name: a # me\nprompt: |\n  Do it.\n  Well.\n',
    );
  });

  it('are none of a file that cannot be read', () => {
    for (const text of ['[', '- a\n', 'a: [']) {
      assert.equal(batchInWorld(text, { world: 'w' }), undefined);
      assert.equal(agentWithoutTools(text), undefined);
    }
  });
});
