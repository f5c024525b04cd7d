import { isJsonObject, isTooDeep, MAX_DEPTH } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData } from '../../trace/schema.ts';
import { isUnreadable } from '../../trace/undone.ts';
import type { UntrustedWork } from '../ports.ts';
import type { ToolEntry, ToolSet } from './toolSet.ts';

/** Returns the tool of a call. Throws ClassedError if the call is invalid, unless it is replayed. */
export async function checkedTool(
  tools: ToolSet,
  request: EventData['tool.start'],
  work: UntrustedWork,
  signal: AbortSignal,
): Promise<ToolEntry> {
  const tool = tools.find(request.name);
  if (tool === undefined) {
    const names = tools.names;
    throw new ClassedError(
      'unknown_tool',
      `Unknown tool "${request.name}". ` +
        (names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`),
    );
  }
  if (tool.world?.session.replays !== undefined) return tool;
  if (request.raw !== undefined && isUnreadable(request)) {
    throw new ClassedError(
      'malformed_output',
      `The arguments of ${request.name} are ${reasonOf(request.raw)}. Pass one JSON object that ` +
        `matches ${JSON.stringify(tool.spec.parameters)}.`,
    );
  }
  if (!isJsonObject(request.arguments)) {
    throw new ClassedError(
      'invalid_arguments',
      `The arguments of ${request.name} must be one JSON object that ` +
        `matches ${JSON.stringify(tool.spec.parameters)}.`,
    );
  }
  const problems = await work.argumentProblems(tool.spec.parameters, request.arguments, signal);
  if (problems !== undefined)
    throw new ClassedError(
      'invalid_arguments',
      `The arguments of ${request.name} do not match its schema: ${problems}.`,
    );
  return tool;
}

function reasonOf(raw: string): string {
  try {
    return isTooDeep(JSON.parse(raw)) ? `nested deeper than ${MAX_DEPTH} levels` : 'not valid JSON';
  } catch (error) {
    return `not valid JSON${error instanceof Error ? ` (${error.message})` : ''}`;
  }
}
