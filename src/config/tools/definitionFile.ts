/** Reads files with tool definitions, in the format of MCP, OpenAI, or Anthropic. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';
import type { ToolDefinition } from '../submission/world.ts';

/** Keys of a tool's parameters, in the formats of MCP, Anthropic, and OpenAI. */
const PARAMETERS = ['inputSchema', 'input_schema', 'parameters'] as const;
const OUTPUT = ['outputSchema', 'output_schema'] as const;

export interface DefinitionItem {
  /** Its place in the file. */
  readonly at: Path;
  /** Undefined if the item is no tool definition. */
  readonly definition: ToolDefinition | undefined;
}

/** Returns the items of a file: of a list, or of an object with the list `tools`. */
export function definitionItems(file: Json): DefinitionItem[] {
  const inTools = isJsonObject(file) && file['tools'] !== undefined;
  const list = inTools ? file['tools'] : file;
  return !Array.isArray(list)
    ? []
    : (list as readonly Json[]).map((item, index) => ({
        at: [...(inTools ? ['tools'] : []), index],
        definition: definitionOf(item),
      }));
}

function definitionOf(item: Json): ToolDefinition | undefined {
  // OpenAI wraps it.
  const tool = isJsonObject(item) && isJsonObject(item['function']) ? item['function'] : item;
  if (!isJsonObject(tool)) return undefined;
  const { name, description = '' } = tool;
  const parameters = schemaIn(tool, PARAMETERS);
  if (typeof name !== 'string' || name === '' || typeof description !== 'string' || parameters === null)
    return undefined;
  const output = schemaIn(tool, OUTPUT);
  if (output === null) return undefined;
  return {
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(output === undefined ? {} : { output }),
  };
}

/** Returns undefined if there is none, and null if it is no schema. */
function schemaIn(tool: JsonObject, keys: readonly string[]): JsonObject | null | undefined {
  const key = keys.find((candidate) => tool[candidate] !== undefined);
  const schema = key === undefined ? undefined : tool[key];
  return schema === undefined || isJsonObject(schema) ? schema : null;
}
