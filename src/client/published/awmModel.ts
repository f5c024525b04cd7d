/** What the page of a scenario of Agent World Model shows, from its published rows. */
import { z } from 'zod';
import type { Json, JsonObject } from '../../common/json.ts';
import type { AwmRow } from '../../formats/awm.ts';
import { parseTable, type SqlTable } from '../../formats/sql/ddl.ts';
import { insertedRows } from '../../formats/sql/rows.ts';
import {
  MAX_TABLE_ROWS,
  type TableRows,
  type TaskVerifier,
  type WorldTable,
  type WorldTool,
} from '../../protocol/worldPage.ts';

type Endpoint = AwmRow<'spec'>['api_spec']['api_groups'][number]['endpoints'][number];

/** What the model that wrote a verifier said about it. */
const response = z.object({
  reasoning: z.string().optional(),
  success_criteria: z.string().optional(),
  failure_criteria: z.string().optional(),
  function_name: z.string().optional(),
});

export function awmTables(schema: AwmRow<'schema'> | undefined, rows: AwmRow<'rows'> | undefined): WorldTable[] {
  const counts = new Map(
    rows?.sample_data.tables.map(({ table_name, insert_statements }) => [table_name, insert_statements.length]),
  );
  return (
    schema?.db_schema.tables.map(({ name, ddl }) => {
      const table = tableOf(name, ddl);
      return {
        name,
        rows: counts.get(name) ?? 0,
        columns: table.columns.map(({ name: column, type, isKey, isRequired }) => ({
          ...{ name: column, type, isKey, isRequired },
        })),
        foreignKeys: table.foreignKeys.map(({ columns, table: other, references }) => ({
          ...{ columns: [...columns], table: other, references: [...references] },
        })),
      };
    }) ?? []
  );
}

/** Returns the rows of a table at the start. undefined: there is no such table. */
export function awmRows(
  schema: AwmRow<'schema'> | undefined,
  rows: AwmRow<'rows'> | undefined,
  name: string,
): TableRows | undefined {
  const declared = schema?.db_schema.tables.find((table) => table.name === name);
  if (declared === undefined) return undefined;
  const statements = rows?.sample_data.tables.find(({ table_name }) => table_name === name)?.insert_statements ?? [];
  const inserted = insertedRows(tableOf(name, declared.ddl), statements.slice(0, MAX_TABLE_ROWS));
  const isPart = statements.length > MAX_TABLE_ROWS || inserted.rows.length > MAX_TABLE_ROWS;
  return {
    table: name,
    columns: [...inserted.columns],
    rows: inserted.rows.slice(0, MAX_TABLE_ROWS).map((row) => [...row]),
    ...(isPart ? { isPart } : {}),
    ...(inserted.unread.length === 0
      ? {}
      : { problem: `${inserted.unread.length} of ${statements.length} statements cannot be read.` }),
  };
}

/** `code`: with the lines of the tools. */
export function awmTools(spec: AwmRow<'spec'> | undefined, code: string): WorldTool[] {
  const lines = operationLines(code);
  return (
    spec?.api_spec.api_groups.flatMap(({ endpoints }) =>
      endpoints.map((endpoint) => {
        const line = lines.get(endpoint.operation_id);
        return {
          name: endpoint.operation_id,
          request: `${endpoint.method.toUpperCase()} ${endpoint.path}`,
          summary: endpoint.summary,
          description: endpoint.description,
          parameters: parametersOf(endpoint),
          ...(line === undefined ? {} : { line }),
        };
      }),
    ) ?? []
  );
}

/** One flat schema of path, query, and body, as the runner makes of it. */
function parametersOf({ request_params: params }: Endpoint): JsonObject {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [name, { type, description, required: isRequired, example, param_type }] of Object.entries(params)) {
    properties[name] = {
      ...(type === undefined ? {} : { type: JSON_TYPES[type.toLowerCase()] ?? type }),
      ...(description === undefined ? {} : { description }),
      ...(example === undefined ? {} : { examples: [example as Json] }),
      ...(param_type === undefined ? {} : { in: param_type }),
    };
    if (isRequired === true) required.push(name);
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

/** Names of types that the specifications use for those of JSON Schema. */
const JSON_TYPES: Readonly<Record<string, string>> = {
  int: 'integer',
  float: 'number',
  str: 'string',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
};

/** Returns the line of each handler, by the ID of its operation. */
export function operationLines(code: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [index, line] of code.split('\n').entries()) {
    const id =
      /operation_id\s*=\s*["'](\w+)["']/.exec(line)?.[1] ?? /^\s*(?:async\s+)?def\s+(\w+)\s*\(/.exec(line)?.[1];
    if (id !== undefined && !found.has(id)) found.set(id, index + 1);
  }
  return found;
}

export function awmVerifiers(
  code: AwmRow<'codeVerifier'> | undefined,
  sql: AwmRow<'sqlVerifier'> | undefined,
): TaskVerifier[] {
  const verifier = (kind: 'code' | 'SQL', part: string, row: typeof code): TaskVerifier[] => {
    if (row === undefined) return [];
    const { reasoning, success_criteria, failure_criteria, function_name } = responseOf(row.verification.raw_response);
    const name = function_name ?? /^def\s+(\w+)/m.exec(row.verification.code)?.[1];
    return [
      {
        kind,
        text: row.verification.code,
        part,
        ...(name === undefined ? {} : { function: name }),
        ...(reasoning === undefined ? {} : { reasoning }),
        ...(success_criteria === undefined ? {} : { success: success_criteria }),
        ...(failure_criteria === undefined ? {} : { failure: failure_criteria }),
      },
    ];
  };
  return [...verifier('code', 'codeVerifier', code), ...verifier('SQL', 'sqlVerifier', sql)];
}

/** The response is JSON that a model wrote, often within a fence. */
function responseOf(text: string | undefined): z.infer<typeof response> {
  const object = text?.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  if (object === undefined || object === '') return {};
  try {
    return response.safeParse(JSON.parse(object)).data ?? {};
  } catch {
    return {}; // cut off
  }
}

function tableOf(name: string, ddl: string): SqlTable {
  return parseTable(ddl) ?? { name, columns: [], key: [], foreignKeys: [] };
}
