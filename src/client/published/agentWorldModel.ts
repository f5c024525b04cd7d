/** What the page of an environment of Agent-World shows, from its published files. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { AgentWorldCheckpoint, AgentWorldQuestions } from '../../formats/agentWorld.ts';
import {
  MAX_TABLE_ROWS,
  type TableRows,
  type TaskVerifier,
  type WorldTable,
  type WorldTool,
} from '../../protocol/worldPage.ts';
import { operationLines } from './awmModel.ts';

/** Rows that decide which columns a collection has. */
const SAMPLE = 200;

export function collectionTable(file: string, records: readonly Json[]): WorldTable {
  const columns = columnsOf(records);
  return {
    name: nameOf(file),
    rows: records.length,
    columns: columns.map((name) => ({ name, type: typeIn(records, name), isKey: false, isRequired: false })),
    foreignKeys: [],
  };
}

export function collectionRows(file: string, records: readonly Json[]): TableRows {
  const columns = columnsOf(records);
  return {
    table: nameOf(file),
    columns: columns.length === 0 ? ['value'] : columns,
    rows: records
      .slice(0, MAX_TABLE_ROWS)
      .map((record) =>
        columns.length === 0 ? [record] : columns.map((name) => (isJsonObject(record) ? (record[name] ?? null) : null)),
      ),
    ...(records.length > MAX_TABLE_ROWS ? { isPart: true } : {}),
  };
}

export function agentWorldTools({ data }: AgentWorldCheckpoint, code: string): WorldTool[] {
  const lines = operationLines(code);
  return data.ToolDesignAgent.tool_schemas.map(({ name, description, parameters }) => {
    const line = lines.get(name);
    const [summary = ''] = description.trim().split('\n');
    return {
      ...{ name, summary, description },
      ...(parameters === undefined ? {} : { parameters: parameters as JsonObject }),
      ...(line === undefined ? {} : { line }),
    };
  });
}

export function agentWorldVerifiers(question: AgentWorldQuestions['tasks'][number] | undefined): TaskVerifier[] {
  if (question === undefined) return [];
  const { grading_rubric: rubric, reference_answer: answer } = question;
  return [
    ...(rubric === undefined
      ? []
      : [
          { kind: 'rubric' as const, text: '', success: rubric.success_criteria.map((each) => `- ${each}`).join('\n') },
        ]),
    ...(answer === undefined
      ? []
      : [{ kind: 'answer' as const, text: typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2) }]),
  ];
}

/** Returns the name of a collection by that of its file. */
export function nameOf(file: string): string {
  return file.replace(/\.json$/, '');
}

function columnsOf(records: readonly Json[]): string[] {
  return [...new Set(records.slice(0, SAMPLE).flatMap((record) => (isJsonObject(record) ? Object.keys(record) : [])))];
}

function typeIn(records: readonly Json[], column: string): string {
  for (const record of records.slice(0, SAMPLE)) {
    const value = isJsonObject(record) ? record[column] : undefined;
    if (value === undefined || value === null) continue;
    return Array.isArray(value) ? 'list' : typeof value;
  }
  return '';
}
