/** The turns of a world model's conversation: the agent's calls and what it saw. */
import { isJsonObject, type Json, type JsonObject } from '../../../common/json.ts';
import type { Conversation } from '../conversation.ts';

export interface Action {
  readonly name: string;
  readonly args: JsonObject;
}

export interface WorldTurn {
  /** undefined: not the call of a tool. */
  readonly action: Action | undefined;
  /** What the real desk returned, if the world model changes its result. */
  readonly real: string | undefined;
  /** What the agent saw; undefined in the last turn, which the world model answers. */
  readonly observation: string | undefined;
}

export function worldTurns({ requests, replies }: Conversation): WorldTurn[] {
  return requests.map((request, index) => ({
    action: actionIn(request),
    real: /\n\*\*Real Result:\*\*\n([^]*)$/.exec(request)?.[1],
    observation: replies[index]?.replace(/^\*\*Environment Observation:\*\*\s*/, ''),
  }));
}

/** A call that failed changed nothing, whether the desk refused it or it never got there. */
export function failed({ observation }: WorldTurn): boolean {
  return observation?.startsWith('Error (') === true;
}

function actionIn(request: string): Action | undefined {
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
