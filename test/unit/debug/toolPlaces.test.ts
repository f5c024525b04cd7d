import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { ToolPlaces } from '../../../src/debug/sources/toolPlaces.ts';
import { submission } from '../../support/rolloutKit.ts';
import { member, team } from '../../support/teamKit.ts';

it("a call of a member, and a handoff, are at the member's place in its team", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'places-'));
  try {
    const file = path.join(folder, 'desk.agent.yaml');
    await writeFile(file, 'version: 1\nname: desk\ntools:\n  - builtin: [calculator]\n');
    const at = (line: number): { file: string; line: number; column: number } => ({ file, line, column: 7 });
    const searcher = { ...member('searcher', { file, tools: [] }), position: at(11) };
    const inner = {
      ...member('pair', {
        file,
        ...team('handoff', [
          { ...member('north', { file }), position: at(21) },
          { ...member('south', { file }), position: at(22) },
        ]),
      }),
      position: at(12),
    };
    const lead = team('leader', [searcher], {
      file,
      name: 'lead',
      tools: [{ kind: 'builtin', name: 'calculator', position: { file, line: 4, column: 5 } }],
    });
    const desk = submission(team('handoff', [{ ...member('lead', lead), position: at(10) }, inner], { file }));
    const places = await ToolPlaces.read(desk, [folder]);
    const lineOf = (agent: string, tool: string | undefined): number | undefined => places.ofEntry(agent, tool)?.line;
    assert.deepEqual(
      [
        lineOf('desk/lead#1', 'searcher'),
        lineOf('desk/lead#1', 'hand_off_to_pair'),
        lineOf('desk/lead#1', 'calculate'),
        lineOf('desk/lead#1', undefined),
      ],
      [11, 12, 4, 1],
    );
    assert.deepEqual(
      [
        lineOf('desk/pair#1/north#1', 'hand_off_to_south'),
        lineOf('desk/pair#1/north#1', 'hand_off_to_lead'),
        lineOf('desk/pair#1/north#1', 'searcher'),
      ],
      [22, 10, 1],
    );
    assert.equal(places.ofEntry('desk/lead#1', 'searcher')?.column, 7);
  } finally {
    await rm(folder, { recursive: true });
  }
});
