/** Writes folders in the format of Agent World Model, with invented worlds. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { AWM_FILES, type AwmPart } from '../../src/formats/awmFiles.ts';

/** Characters that are added to the parts of a scenario, so that files have the sizes of published ones. */
export type Filler = Readonly<Partial<Record<AwmPart, number>>>;

/** The rows of a scenario about a shelf of boxes, with two tasks. */
export function scenarioRows(name: string, filler: Filler = {}): Record<AwmPart, readonly object[]> {
  const more = (part: AwmPart): string => 'shelf '.repeat(Math.ceil((filler[part] ?? 0) / 6));
  const tasks = ['Rename the red box to crimson box.', 'How many boxes are there?'];
  const verifiers = (part: AwmPart): object[] =>
    tasks.map((task, task_idx) => ({
      ...{ scenario: name, task_idx, task },
      verification: { code: `def verify_task(initial, final):\n    return {}\n# ${more(part)}` },
    }));
  const endpoint = (method: string, at: string, operation_id: string): object => ({
    ...{ path: at, method, operation_id, summary: operation_id.replace('_', ' '), description: more('spec') },
  });
  const ddl = 'CREATE TABLE boxes (id INTEGER PRIMARY KEY, name TEXT)';
  return {
    scenario: [{ name, description: `A shelf for ${name}, on which boxes are kept.` }],
    tasks: [{ scenario: name, tasks }],
    schema: [
      { scenario: name, db_schema: { tables: [{ name: 'boxes', ddl: `${ddl} -- ${more('schema')}`, indexes: [] }] } },
    ],
    rows: [
      {
        scenario: name,
        sample_data: {
          tables: [
            {
              table_name: 'boxes',
              insert_statements: [`INSERT INTO boxes (name) VALUES ('red box') -- ${more('rows')}`],
            },
          ],
        },
      },
    ],
    spec: [
      {
        scenario: name,
        api_spec: {
          api_groups: [
            {
              group_name: 'boxes',
              endpoints: [endpoint('get', '/boxes', 'list_boxes'), endpoint('patch', '/boxes/{id}', 'rename_box')],
            },
          ],
        },
      },
    ],
    code: [{ scenario: name, full_code: `from fastapi import FastAPI\n# ${more('code')}` }],
    codeVerifier: verifiers('codeVerifier'),
    sqlVerifier: verifiers('sqlVerifier'),
  };
}

/** Writes one line per row. */
export function writeAwmFolder(folder: string, scenarios: Iterable<Record<AwmPart, readonly object[]>>): void {
  mkdirSync(folder, { recursive: true });
  const files = Object.entries(AWM_FILES).map(([part, file]) => ({
    part: part as AwmPart,
    file: openSync(path.join(folder, file), 'w'),
  }));
  for (const rows of scenarios)
    for (const { part, file } of files) for (const row of rows[part]) writeSync(file, `${JSON.stringify(row)}\n`);
  for (const { file } of files) closeSync(file);
}

/** Replaces the rows of a part by these lines. */
export function writePart(folder: string, part: AwmPart, lines: readonly string[]): void {
  writeFileSync(path.join(folder, AWM_FILES[part]), lines.join('\n'));
}
