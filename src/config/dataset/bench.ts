/** Reads the rows of AgentWorldBench as records of a dataset: each is one observation to predict. */
import { z } from 'zod';
import type { JsonObject } from '../../common/json.ts';
import { withoutMarker } from '../../common/observation.ts';
import type { Files } from '../files.ts';
import { joinPath } from '../paths.ts';
import { WORLD_DOMAINS } from '../schema/simulatedWorld.ts';
import { jsonlRecords } from './jsonl.ts';
import type { RawRecord } from './record.ts';

const ENDING = '_test.jsonl';
const AGAIN = 'Download the file again, or remove this row.';

const benchRow = z.object({
  /** The domain, also after a `/`. */
  task: z.string(),
  id: z.union([z.number(), z.string()]),
  /** Actions and observations of all turns. */
  prompt: z.array(z.string()),
  response: z.array(z.string()),
  current_prompt: z.string().optional(),
  system_str: z.string().default(''),
  /** The turn to predict, from 1. */
  turn_idx: z.int().min(1),
  total_turns: z.int().optional(),
});

/**
 * Reads the rows of a file, or of all `<domain>_test.jsonl` of a folder. The ID of a task is that of its trajectory
 * with the turn, and the line if it is not the first with both. Throws NotUtf8.
 */
export async function* benchRecords(files: Files, path: string): AsyncGenerator<RawRecord> {
  const ids = new Set<string>();
  let number = 0;
  for (const file of await benchFiles(files, path)) {
    for await (const record of jsonlRecords(files.bytes(file))) {
      const at = { file, line: record.line, column: record.column, number: ++number };
      const read = 'error' in record ? record.error.message : recordOf(record.value);
      if (typeof read === 'string') {
        yield { ...at, error: { message: read, hint: AGAIN } };
        continue;
      }
      const id = ids.has(read.id) ? `${read.id}-line-${record.line}` : read.id;
      ids.add(id);
      yield { ...at, value: { ...read.fields, id } };
    }
  }
}

async function benchFiles(files: Files, path: string): Promise<string[]> {
  if ((await files.stat(path))?.kind !== 'folder') return [path];
  const names = await files.list(path);
  return names
    .filter((name) => name.endsWith(ENDING))
    .sort()
    .map((name) => joinPath(path, name));
}

/** Returns the task of a row, or what is wrong with it. */
function recordOf(value: unknown): { readonly id: string; readonly fields: JsonObject } | string {
  const row = benchRow.safeParse(value);
  if (!row.success) {
    const [issue] = row.error.issues;
    const at = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
    return `not a row of AgentWorldBench: ${at}${issue?.message ?? ''}`;
  }
  const { task, id, prompt, response, current_prompt, system_str: system, turn_idx: turn, total_turns } = row.data;
  const named = task.split('/').at(-1);
  const domain = WORLD_DOMAINS.find((one) => one === named);
  if (domain === undefined) return `the domain ${JSON.stringify(task)} is none of ${WORLD_DOMAINS.join(', ')}`;
  const question = prompt[turn - 1] ?? '';
  const answer = response[turn - 1];
  if (question === '' || answer === undefined)
    return `turn ${turn} is missing: the row has ${prompt.length} actions and ${response.length} observations`;
  if (current_prompt !== undefined && current_prompt !== '' && current_prompt !== question)
    return `\`current_prompt\` is not the action of turn ${turn}`;
  const before = prompt.slice(0, turn - 1).flatMap((action, index) => [
    { role: 'user', content: action },
    { role: 'assistant', content: response[index] ?? '' },
  ]);
  return {
    id: `${domain}-${id}-${turn}`,
    fields: {
      question,
      answer: withoutMarker(answer),
      level: domain,
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...before],
      trajectory: id,
      turn,
      ...(total_turns === undefined ? {} : { total_turns }),
    },
  };
}
