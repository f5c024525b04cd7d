/**
 * The published files of Agent World Model: one JSON Lines file for each part of its scenarios, joined by the name of
 * the scenario. The order of rows differs between the files; verifiers are joined by scenario and index of the task.
 */
import { z } from 'zod';
import { type AwmPart, isVerifier } from './awmFiles.ts';

const verifierRow = z.object({
  scenario: z.string(),
  task_idx: z.int().min(0),
  verification: z.object({
    code: z.string(),
    /** What the model wrote: JSON with the criteria and the name of the function, mostly. */
    raw_response: z.string().optional(),
  }),
});

/** Rows of each part. What is not named here is kept by nobody. */
export const AWM_ROWS = {
  scenario: z.object({ name: z.string(), description: z.string() }),
  tasks: z.object({ scenario: z.string(), tasks: z.array(z.string()) }),
  schema: z.object({
    scenario: z.string(),
    db_schema: z.object({
      tables: z.array(z.object({ name: z.string(), ddl: z.string(), indexes: z.array(z.string()).default([]) })),
    }),
  }),
  rows: z.object({
    scenario: z.string(),
    sample_data: z.object({
      tables: z.array(z.object({ table_name: z.string(), insert_statements: z.array(z.string()) })),
    }),
  }),
  spec: z.object({
    scenario: z.string(),
    api_spec: z.object({
      api_groups: z.array(
        z.object({
          group_name: z.string(),
          endpoints: z.array(
            z.object({
              path: z.string(),
              method: z.string(),
              operation_id: z.string(),
              summary: z.string().default(''),
              description: z.string().default(''),
              request_params: z
                .record(
                  z.string(),
                  z.object({
                    type: z.string().optional(),
                    param_type: z.string().optional(),
                    required: z.boolean().optional(),
                    description: z.string().optional(),
                    example: z.unknown().optional(),
                  }),
                )
                .catch({}),
            }),
          ),
        }),
      ),
    }),
  }),
  code: z.object({ scenario: z.string(), full_code: z.string() }),
  codeVerifier: verifierRow,
  sqlVerifier: verifierRow,
} as const;
export type AwmRow<Part extends AwmPart> = z.infer<(typeof AWM_ROWS)[Part]>;

/** The key of a row: its scenario, and for verifiers the index of the task, from 0. */
export interface AwmKey {
  readonly scenario: string;
  readonly task?: number;
}

/** Returns the name by which the files are joined: other characters than letters, digits, and `_` do not count. */
export function scenarioKey(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '');
}

const NAME = /^\s*\{\s*"(?:scenario|name)"\s*:\s*("(?:[^"\\]|\\.)*")/;
const TASK = /^\s*,\s*"task_idx"\s*:\s*(\d+)/;
const rowKey = z.object({ scenario: z.string().optional(), name: z.string().optional(), task_idx: z.int().optional() });

/**
 * Reads the key from the first characters of a row, without parsing the rest of it. Returns undefined if they do not
 * have it: other programs may write the members in another order.
 */
export function keyAtStart(start: string, part: AwmPart): AwmKey | undefined {
  const found = NAME.exec(start);
  if (found?.[1] === undefined) return undefined;
  const scenario = scenarioKey(String(JSON.parse(found[1])));
  if (!isVerifier(part)) return { scenario };
  const task = TASK.exec(start.slice(found[0].length))?.[1];
  return task === undefined ? undefined : { scenario, task: Number(task) };
}

/** Returns the key of a parsed row; undefined if it has none. */
export function keyOf(row: unknown, part: AwmPart): AwmKey | undefined {
  const { data } = rowKey.safeParse(row);
  const name = data?.scenario ?? data?.name;
  if (name === undefined || (isVerifier(part) && data?.task_idx === undefined)) return undefined;
  return { scenario: scenarioKey(name), ...(isVerifier(part) ? { task: data?.task_idx ?? 0 } : {}) };
}

/** Members of a model's answer that say how to use the verifier in it. */
const verifierNotes = z.object({
  function_name: z.string().optional(),
  reasoning: z.string().optional(),
  success_criteria: z.string().optional(),
  failure_criteria: z.string().optional(),
});

interface AwmVerifier extends Omit<z.infer<typeof verifierNotes>, 'function_name'> {
  readonly python: string;
  readonly function: string;
}

/** Returns the function of a verifier, with its criteria. */
export function verifierOf({ verification: { code, raw_response = '' } }: AwmRow<'codeVerifier'>): AwmVerifier {
  const { function_name: written, ...notes } = notesOf(raw_response);
  const defined = [...code.matchAll(/^(?:async\s+)?def\s+(\w+)\s*\(/gm)].map(([, name]) => name ?? '');
  const named = [written, 'verify_task_completion', 'verify_task'].find(
    (name) => name !== undefined && defined.includes(name),
  );
  return { python: code, function: named ?? defined.at(-1) ?? 'verify_task', ...notes };
}

function notesOf(answer: string): z.infer<typeof verifierNotes> {
  const json = /\{[\s\S]*\}/.exec(answer)?.[0]; // often in a fence
  if (json === undefined) return {};
  try {
    return verifierNotes.safeParse(JSON.parse(json)).data ?? {};
  } catch {
    return {};
  }
}
