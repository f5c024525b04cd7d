/** `expose: meta`: the agent sees two tools, which list the tools of the world and call them. */
import { isJsonObject, type Json, type JsonObject, jsonOf } from '../../common/json.ts';
import type { ToolCall, ToolOutcome, ToolSpec } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';

const LIST = 'list_tools';
const CALL = 'call_tool';

/** Returns the two tools. */
export function metaSpecs(world: string): ToolSpec[] {
  const common = { sessionBound: false, from: { kind: 'world', name: world } } as const;
  return [
    {
      ...common,
      name: LIST,
      description: 'Lists the tools of this environment with their parameters.',
      parameters: { type: 'object', properties: {} },
      effect: 'pure',
    },
    {
      ...common,
      name: CALL,
      description: `Calls a tool that ${LIST} has listed.`,
      parameters: {
        type: 'object',
        properties: {
          tool_name: { type: 'string', description: 'Name of the tool.' },
          arguments: {
            anyOf: [{ type: 'object' }, { type: 'string' }],
            description: 'Its arguments: an object, or a text with its JSON.',
          },
        },
        required: ['tool_name'],
      },
      effect: 'restorable',
    },
  ];
}

/** Returns what a call of one of the two tools answers, or the call that it makes. Throws ClassedError. */
export function callOfMeta(
  { name, arguments: args }: ToolCall,
  tools: readonly ToolSpec[],
): ToolOutcome | { readonly name: string; readonly args: JsonObject } {
  if (name === LIST) return { response: tools.map(listed).join('\n\n'), changes: [] };
  if (name !== CALL) throw new ClassedError('unknown_tool', `Unknown tool "${name}".`);
  const { tool_name: tool, arguments: given = {} } = args;
  const parsed = typeof given === 'string' ? jsonOf(given.trim() === '' ? '{}' : given) : given;
  if (typeof tool !== 'string') throw new ClassedError('invalid_arguments', `${CALL} needs tool_name, a text.`);
  if (!isJsonObject(parsed))
    throw new ClassedError('invalid_arguments', `${CALL} needs arguments: an object, or a text with its JSON.`);
  return { name: tool, args: parsed };
}

function listed({ name, description, parameters }: ToolSpec, at: number): string {
  const { properties = {}, required = [] } = parameters;
  const needed = Array.isArray(required) ? required : [];
  const lines = Object.entries(isJsonObject(properties) ? properties : {}).map(([parameter, schema]) =>
    `   - ${parameter} (${needed.includes(parameter) ? 'required' : 'optional'}): ${describedSchema(schema)}`.trimEnd(),
  );
  return [
    `${at + 1}. ${name}`,
    `   ${description.replaceAll('\n', '\n   ')}`,
    lines.length === 0 ? '   No parameters.' : '   Parameters:',
    ...lines,
  ].join('\n');
}

function describedSchema(schema: Json): string {
  if (!isJsonObject(schema)) return '';
  const { type, description, default: standard, enum: values } = schema;
  return [
    typeof type === 'string' ? type : '',
    typeof description === 'string' ? description : '',
    Array.isArray(values) ? `One of ${values.map((value) => JSON.stringify(value)).join(', ')}.` : '',
    standard === undefined ? '' : `Default: ${JSON.stringify(standard)}.`,
  ]
    .filter((part) => part !== '')
    .join('; ');
}
