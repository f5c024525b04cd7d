/** Reads the tasks of published worlds as records of a dataset: one for each task, which names its scenario. */
import type { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../common/json.ts';
import { AGENT_WORLD_FOLDERS, agentWorldQuestions } from '../../formats/agentWorld.ts';
import { AWM_ROWS, scenarioKey } from '../../formats/awm.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import type { Files } from '../files.ts';
import { basename, joinPath } from '../paths.ts';
import { jsonlRecords } from './jsonl.ts';
import { parseRecord, type RawRecord } from './record.ts';

interface Task {
  readonly scenario: string;
  /** From 0, as in the names of verifiers. */
  readonly index: number;
  readonly question: string;
  readonly answer?: unknown;
}

const AGAIN = 'Download the file again, or remove this row.';

/** Reads the tasks of Agent World Model. `path`: its file with tasks, or the folder that has it. Throws NotUtf8. */
export async function* awmRecords(files: Files, path: string): AsyncGenerator<RawRecord> {
  const file = (await files.stat(path))?.kind === 'folder' ? joinPath(path, AWM_FILES.tasks) : path;
  const lines = new Map<string, number>();
  let number = 0;
  for await (const record of jsonlRecords(files.bytes(file))) {
    const at = { file, line: record.line, column: record.column };
    const broken = (message: string, hint: string): RawRecord => ({
      ...at,
      number: ++number,
      error: { message, hint },
    });
    if ('error' in record) {
      yield broken(record.error.message, AGAIN);
      continue;
    }
    const row = AWM_ROWS.tasks.safeParse(record.value);
    if (!row.success) {
      const named = isJsonObject(record.value) && typeof record.value['scenario'] === 'string';
      yield broken(
        named ? `not a row of tasks: ${issueOf(row.error)}` : 'the row names no scenario',
        `Write { "scenario": "…", "tasks": ["…"] }. ${AGAIN}`,
      );
      continue;
    }
    const scenario = scenarioKey(row.data.scenario);
    const first = lines.get(scenario);
    if (first !== undefined) {
      yield broken(`the tasks of scenario \`${scenario}\` are already in line ${first}`, 'Remove one of the two rows.');
      continue;
    }
    lines.set(scenario, record.line);
    for (const [index, question] of row.data.tasks.entries())
      yield { ...at, number: ++number, value: recordOf({ scenario, index, question }) };
  }
}

/**
 * Reads the questions of Agent-World. `path`: a file with questions, the folder of such files, or the folder of
 * everything.
 */
export async function* agentWorldRecords(files: Files, path: string): AsyncGenerator<RawRecord> {
  let number = 0;
  for (const file of await questionFiles(files, path)) {
    const at = { file, line: 1, column: 1 };
    const broken = (message: string, hint: string): RawRecord => ({
      ...at,
      number: ++number,
      error: { message, hint },
    });
    const record = parseRecord(await files.readText(file), { line: 1, column: 1, number: 1 });
    if ('error' in record) {
      const { line, column, error } = record;
      yield { ...broken(error.message, 'Download the file again.'), line, column };
      continue;
    }
    const questions = agentWorldQuestions.safeParse(record.value);
    if (!questions.success) {
      yield broken(`not a file of questions: ${issueOf(questions.error)}`, 'Download the file again.');
      continue;
    }
    const scenario = questions.data.env_id ?? basename(file).replace(/\.json$/, '');
    for (const [index, { task, reference_answer }] of questions.data.tasks.entries())
      yield { ...at, number: ++number, value: recordOf({ scenario, index, question: task, answer: reference_answer }) };
  }
}

async function questionFiles(files: Files, path: string): Promise<string[]> {
  if ((await files.stat(path))?.kind !== 'folder') return [path];
  const nested = joinPath(path, AGENT_WORLD_FOLDERS.questions);
  const folder = (await files.stat(nested))?.kind === 'folder' ? nested : path;
  const names = await files.list(folder);
  return names.filter((name) => name.endsWith('.json')).map((name) => joinPath(folder, name));
}

function recordOf({ scenario, index, question, answer }: Task): JsonObject {
  return {
    id: `${scenario}-${index}`,
    question,
    ...(answer === undefined ? {} : { answer: answer as JsonObject[string] }), // from JSON.parse
    world: { scenario },
    task_idx: index,
  };
}

function issueOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
}
