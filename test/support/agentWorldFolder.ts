/** Writes folders in the format of Agent-World, with invented environments. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AGENT_WORLD_FOLDERS, CHECKPOINT_END } from '../../src/formats/agentWorld.ts';

const { environments, questions } = AGENT_WORLD_FOLDERS;

/** Writes an environment about plants, with one question unless `asked` is false. */
export function writeAgentWorld(folder: string, id: string, asked = true): void {
  const own = path.join(folder, environments, id);
  mkdirSync(own, { recursive: true });
  mkdirSync(path.join(folder, questions), { recursive: true });
  const json = (file: string, value: unknown): void => writeFileSync(file, JSON.stringify(value));
  json(path.join(own, 'plants.json'), [{ name: 'fern' }, { name: 'moss' }]);
  writeFileSync(path.join(own, 'README.md'), 'Plants have names.');
  json(path.join(folder, environments, `${id}${CHECKPOINT_END}`), {
    index: 1,
    data: {
      ToolDesignAgent: {
        tool_schemas: [
          {
            name: 'water_plant',
            description: 'Waters a plant.',
            parameters: { type: 'object', properties: { name: { type: 'string' } } },
            implementation: 'def water_plant(name, **_extra):\n    return {"watered": name}\n',
          },
        ],
      },
    },
    metadata: { env_id: id, name: `Garden ${id}`, description: 'A garden with plants.' },
  });
  if (asked)
    json(path.join(folder, questions, `${id}.json`), {
      env_id: id,
      tasks: [
        {
          task: 'Water the fern.',
          reference_answer: '{"watered": "fern"}',
          grading_rubric: { success_criteria: ['The fern was watered.'], verified_tool_chain: [] },
        },
      ],
    });
}
