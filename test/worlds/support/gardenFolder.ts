/** The garden as published: a folder in the format of Agent World Model, as it is or with defects. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { writeAwmFolder } from '../../support/awmFolder.ts';

const FIXTURE = path.join(import.meta.dirname, '..', 'fixtures', 'garden');
const read = (name: string): string => readFileSync(path.join(FIXTURE, name), 'utf8');

const schema = z.object({
  tables: z.array(z.object({ name: z.string(), ddl: z.string(), indexes: z.array(z.string()) })),
});
const rows = z.object({
  tables: z.array(z.object({ table_name: z.string(), insert_statements: z.array(z.string()) })),
});

/** What the specification describes: method, path, and name. */
const ENDPOINTS = [
  ['GET', '/gardeners', 'list_gardeners'],
  ['GET', '/gardeners/{gardener_id}', 'get_gardener'],
  ['GET', '/plots', 'list_plots'],
  ['GET', '/plots/{plot_id}', 'get_plot'],
  ['PUT', '/plots/{plot_id}/gardener/{gardener_id}', 'assign_plot'],
  ['GET', '/plantings', 'list_plantings'],
  ['POST', '/plots/{plot_id}/plantings', 'plant_crop'],
  ['PATCH', '/plantings/{planting_id}', 'update_planting'],
  ['DELETE', '/plantings/{planting_id}', 'remove_planting'],
  ['POST', '/harvests', 'record_harvest'],
  ['GET', '/harvests/totals', 'total_harvests'],
] as const;

/** The parts of the garden, which tests change. */
export interface Garden {
  readonly tables: { name: string; ddl: string; indexes: string[] }[];
  readonly rows: { table_name: string; insert_statements: string[] }[];
  readonly endpoints: (readonly [method: string, path: string, operation: string])[];
  code: string;
  readonly tasks: string[];
  /** By task. */
  readonly codeVerifiers: (string | undefined)[];
  readonly sqlVerifiers: (string | undefined)[];
}

export function garden(): Garden {
  const verifiers = (mode: string): string[] => ['0', '1'].map((task) => read(`verifiers/${task}.${mode}.py`));
  return {
    tables: schema.parse(JSON.parse(read('schema.json'))).tables,
    rows: rows.parse(JSON.parse(read('rows.json'))).tables,
    endpoints: [...ENDPOINTS],
    code: read('code.py'),
    tasks: z.array(z.string()).parse(JSON.parse(read('tasks.json'))),
    codeVerifiers: verifiers('code'),
    sqlVerifiers: verifiers('sql'),
  };
}

/** Writes scenarios as published. */
export function writeGardens(folder: string, gardens: Readonly<Record<string, Garden>>): void {
  writeAwmFolder(
    folder,
    Object.entries(gardens).map(([scenario, each]) => ({
      scenario: [{ name: scenario, description: 'A community garden with plots, plantings, and harvests.' }],
      tasks: [{ scenario, tasks: each.tasks }],
      schema: [{ scenario, db_schema: { tables: each.tables } }],
      rows: [{ scenario, sample_data: { tables: each.rows } }],
      spec: [
        {
          scenario,
          api_spec: {
            api_groups: [
              {
                group_name: 'garden',
                endpoints: each.endpoints.map(([method, at, operation_id]) => ({ method, path: at, operation_id })),
              },
            ],
          },
        },
      ],
      code: [{ scenario, full_code: each.code }],
      codeVerifier: verifierRows(scenario, each.tasks, each.codeVerifiers),
      sqlVerifier: verifierRows(scenario, each.tasks, each.sqlVerifiers),
    })),
  );
}

function verifierRows(
  scenario: string,
  tasks: readonly string[],
  verifiers: readonly (string | undefined)[],
): readonly object[] {
  return verifiers.flatMap((code, task_idx) =>
    code === undefined ? [] : [{ scenario, task_idx, task: tasks[task_idx], verification: { code } }],
  );
}

/** Replaces a text that occurs once. */
export function replaced(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${parts.length - 1} times in the text: ${from}`);
  return parts.join(to);
}
