import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noteItem, scenarioItem, worldItem, worldTaskItem } from '../../../../src/host/views/worlds/worldNodes.ts';
import { worldRef } from '../../../../src/host/worlds/worldRef.ts';
import { batchRow } from '../rows.ts';

const CODE = 'version: 1\nname: shelves\nkind: code\nformat: awm\nfrom: ../data/awm/\n';

describe('a world file', () => {
  it('names its module, or the folder of its scenarios', () => {
    assert.deepEqual(worldRef('/w/worlds/library.world.yaml', 'name: library\nkind: module\nmodule: library.ts\n'), {
      path: '/w/worlds/library.world.yaml',
      name: 'library',
      kind: 'module',
      module: '/w/worlds/library.ts',
    });
    assert.deepEqual(worldRef('/w/worlds/s.world.yaml', `${CODE}scenario: harbor\n`), {
      path: '/w/worlds/s.world.yaml',
      name: 'shelves',
      kind: 'code',
      from: '/w/data/awm',
      scenario: 'harbor',
    });
  });
  it('lists its recordings', () => {
    const written = worldRef('/w/r.world.yaml', 'name: r\nkind: recorded\nfrom: [b0123456789abcdefg, tau.json]\n');
    assert.deepEqual(written.recordings, ['b0123456789abcdefg', 'tau.json']);
    assert.equal(written.from, undefined);
    const item = worldItem(written, undefined, undefined);
    assert.equal(item.description, 'recorded · 2 recordings');
    assert.equal(item.tooltip, '/w/r.world.yaml\nb0123456789abcdefg\ntau.json');
  });
  it('says what a simulated world is told, and where it is written', () => {
    const text = `name: sim
kind: simulated
domain: search
tools: [{ mcp: { command: x } }]
actions: prompts/actions.md
state: { sql: { database: library.sqlite } }
demonstrations: { recorded: [last/a/1, last/b/1] }
instruction: |
  The second renewal
  fails.
`;
    const { simulation } = worldRef('/w/sim.world.yaml', text);
    assert.equal(simulation?.domain, 'search');
    assert.deepEqual(
      simulation.parts.map(({ part, about, place }) => [part, about, place && `${place.path}:${place.line}`]),
      [
        ['task', 'of the domain search', undefined],
        ['actions', 'prompts/actions.md', '/w/prompts/actions.md:1'],
        ['state', 'rows of library.sqlite', '/w/sim.world.yaml:6'],
        ['demonstrations', 'recorded in last/a/1, last/b/1', '/w/sim.world.yaml:7'],
        ['instruction', 'The second renewal fails.', '/w/sim.world.yaml:8'],
      ],
    );
    assert.equal(worldRef('/w/m.world.yaml', 'kind: module').simulation, undefined);
    assert.deepEqual(
      worldRef('/w/h.world.yaml', 'kind: simulated\nstate: 3\n').simulation?.parts.map(({ part }) => part),
      ['task', 'actions', 'state'],
    );
  });
  it('is read as far as it is written', () => {
    const { name, kind, problem } = worldRef('/w/half.world.yaml', 'kind: [');
    assert.deepEqual([name, kind, problem !== undefined], ['half', '', true]);
    assert.equal(worldRef('/w/a.world.json', '{}').name, 'a');
  });
});

describe('items of the Worlds view', () => {
  const ref = worldRef('/w/s.world.yaml', CODE);
  it('say kind, scenarios, and the last pass rate', () => {
    const last = batchRow({ tasks: 2, attempts: 2, counts: { passed: 1, failed: 3 } });
    assert.equal(worldItem(ref, undefined, undefined).description, 'code');
    assert.equal(worldItem(ref, 1000, last).description, 'code · 1000 scenarios · pass@1 0.25');
    assert.equal(worldItem({ ...ref, scenario: 'harbor' }, 1000, undefined).description, 'code · harbor');
    assert.equal(worldItem(worldRef('/w/a.world.yaml', 'kind: ['), undefined, undefined).icon?.id, 'warning');
  });
  it('say the domain of a simulated world, and how many tools its files have', () => {
    const simulated = worldRef('/w/sim.world.yaml', 'kind: simulated\n');
    const shown = (known: number, complete: boolean): string =>
      worldItem({ ...simulated, tools: { known, complete } }, undefined, undefined).description ?? '';
    assert.equal(shown(9, true), 'simulated · mcp · 9 tools');
    assert.equal(shown(3, false), 'simulated · mcp · 3+ tools');
    assert.equal(shown(0, false), 'simulated · mcp');
    const item = worldItem({ ...simulated, tools: { known: 0, complete: false } }, undefined, undefined);
    assert.match(item.tooltip ?? '', /Tools of MCP servers and recordings are read when a batch is submitted/);
    assert.equal(item.context, 'world.simulated');
  });
  it('name a scenario by the key that tasks use, if that is another one', () => {
    const scenario = { key: 'e_commerce_33', name: 'E-Commerce 33', description: 'Sells.', tasks: ['a'] };
    assert.equal(scenarioItem(scenario).description, 'e_commerce_33 · 1 task');
    assert.equal(scenarioItem({ ...scenario, name: 'e_commerce_33', tasks: [] }).description, 'no tasks');
  });
  it('show the text of a task, or its ID', () => {
    assert.deepEqual(
      [worldTaskItem({ id: '3', text: 'Rename\nit.' }).label, worldTaskItem({ id: 'renew', text: '' }).label],
      ['Rename it.', 'renew'],
    );
    assert.equal(noteItem('No tasks', '', false).icon?.id, 'info');
  });
});
