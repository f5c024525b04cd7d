import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadAgent } from '../../../../src/config/load.ts';
import { type TeamGraph, teamGraph } from '../../../../src/host/team/teamGraph.ts';
import { teamPage } from '../../../../src/host/team/teamPicture.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';

const MODEL = 'model: { endpoint: "http://gpu:8000/v1", name: qwen }\n';
const worker = (name: string): string => `version: 1\nname: ${name}\n${MODEL}prompt: You are ${name}.\n`;

async function graphOf(team: string, own = ''): Promise<TeamGraph> {
  const files = {
    'desk.agent.yaml': `version: 1\nname: desk\n${own}team:\n${team}`,
    'pair.agent.yaml':
      'version: 1\nname: pair\nteam: { kind: workflow, members: [{ agent: a.agent.yaml, after: [] }, { agent: ' +
      'b.agent.yaml, after: [] }] }\n',
  };
  const workers = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.agent.yaml`, worker(name)]));
  const { value, problems } = await loadAgent(memoryFiles({ ...files, ...workers }), 'desk.agent.yaml');
  assert.deepEqual(problems, []);
  return teamGraph(value!);
}

/** Columns and rows instead of pixels: the names from left to right, those of one column together. */
function columns({ boxes }: TeamGraph): string[][] {
  const agents = boxes.filter(({ team }) => !team);
  return [...new Set(agents.map(({ x }) => x))]
    .sort((a, b) => a - b)
    .map((x) =>
      agents
        .filter((box) => box.x === x)
        .sort((a, b) => a.y - b.y)
        .map(({ name }) => name),
    );
}

describe('the picture of a team', () => {
  it('draws a workflow from left to right, each agent after all that it waits for', async () => {
    const graph = await graphOf(
      '  kind: workflow\n  members:\n    - a.agent.yaml\n    - { agent: b.agent.yaml, after: [a] }\n    - { ' +
        'agent: c.agent.yaml, after: [] , loop: { until: OK, most: 3 } }\n    - { agent: d.agent.yaml, after: [b, ' +
        'c] }\n',
    );
    assert.deepEqual(columns(graph), [['a', 'c'], ['b'], ['d']]);
    assert.equal(graph.lines.length, 3);
    assert.deepEqual(
      graph.boxes.map(({ name, detail, loop, place }) => [name, detail, loop, place.line]),
      [
        ['desk', 'workflow', undefined, 1],
        ['a', 'qwen', undefined, 6],
        ['c', 'qwen', 'up to 3×, until /OK/', 8],
        ['b', 'qwen', undefined, 7],
        ['d', 'qwen', undefined, 9],
      ],
    );
  });

  it('draws the first agent of a handoff first, and lines back where the work may return', async () => {
    const graph = await graphOf(
      '  kind: handoff\n  members:\n    - { agent: a.agent.yaml, to: [desk] }\n    - pair.agent.yaml\n',
      `${MODEL}prompt: Sort.\n`,
    );
    assert.equal(columns(graph)[0]?.join(), 'desk');
    assert.deepEqual(
      graph.lines.map(({ from, to }) => from.x < to.x),
      [true, true, false],
    );

    assert.deepEqual(
      graph.boxes.filter(({ team }) => team).map(({ name, detail }) => [name, detail]),
      [
        ['desk', 'handoff'],
        ['pair', 'workflow'],
      ],
    );
  });

  it('draws a leader before its members, without overlaps', async () => {
    const graph = await graphOf(
      '  kind: leader\n  members: [a.agent.yaml, pair.agent.yaml, c.agent.yaml]\n',
      `${MODEL}prompt: Lead.\n`,
    );
    assert.equal(columns(graph)[0]?.join(), 'desk');
    const agents = graph.boxes.filter(({ team }) => !team);
    for (const one of agents) {
      assert.ok(one.x >= 0 && one.y >= 0 && one.x + one.width <= graph.width && one.y + one.height <= graph.height);
      for (const other of agents)
        if (one !== other)
          assert.ok(
            one.x + one.width <= other.x ||
              other.x + other.width <= one.x ||
              one.y + one.height <= other.y ||
              other.y + other.height <= one.y,
            `${one.name} and ${other.name}`,
          );
    }
  });

  it('is text without foreign scripts, with a clickable box for each agent', async () => {
    const graph = await graphOf('  kind: workflow\n  members: [a.agent.yaml]\n');
    const html = teamPage(
      'Team <b>',
      { ...graph, boxes: graph.boxes.map((box) => ({ ...box, name: '<script>alert(1)</script>' })) },
      'abc',
    );
    assert.equal(html.match(/<script/g)?.length, 1);
    assert.ok(html.includes("default-src 'none'") && html.includes('&lt;script&gt;'));
    assert.equal(html.match(/role="link"/g)?.length, graph.boxes.length);
  });
});
