/**
 * The world model: used if the system prompt makes it the environment of an agent and lists the rows of the sample's
 * library. By rule: it makes the calls of all turns on these rows, and returns what the desk of the sample returns for
 * the last one. So its simulation is faithful, which no language model's is.
 */
import type { Json, JsonObject } from '../../../common/json.ts';
import { isJsonObject } from '../../../common/json.ts';
import type { Turn } from '../../text/completion.ts';
import type { Conversation } from '../conversation.ts';
import { Library, Refused } from './library.ts';
import { type LibraryRows, rowsIn } from './rows.ts';

/** Returns the rows of the library that it plays; undefined if it does not play one. */
export function playedLibrary(system: string): LibraryRows | undefined {
  return /\byou are the environment of an agent\b/i.test(system) ? rowsIn(system) : undefined;
}

export function deskWorld({ requests, replies }: Conversation, rows: LibraryRows): Turn {
  const library = new Library(rows);
  let answer = '';
  for (const [index, request] of requests.entries()) {
    // A call that failed before it reached the desk changed nothing.
    if (/^(\*\*Environment Observation:\*\*\s*)?Error \(timeout\)/.test(replies[index] ?? '')) continue;
    answer = answerTo(library, request);
  }
  return { reasoning: `Turn ${requests.length}: the rules of the desk decide.`, content: answer, calls: [] };
}

function answerTo(library: Library, request: string): string {
  const action = actionIn(request);
  if (action === undefined) return 'Error (tool_error): The action is no call of a tool.';
  try {
    const result = library.call(action.name, action.args);
    return result === undefined ? `Error (unknown_tool): Unknown tool "${action.name}".` : JSON.stringify(result);
  } catch (error) {
    if (error instanceof Refused) return `Error (tool_error): ${error.message}`;
    throw error;
  }
}

function actionIn(request: string): { readonly name: string; readonly args: JsonObject } | undefined {
  const written = /```json\n([^]*?)\n```/.exec(request)?.[1];
  if (written === undefined) return undefined;
  let value: Json;
  try {
    value = JSON.parse(written) as Json; // the result of JSON.parse is Json
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return undefined;
  const { name, arguments: args = {} } = value;
  return isJsonObject(args) ? { name, args } : undefined;
}
