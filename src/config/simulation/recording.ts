/** What simulated worlds take from recorded attempts: calls with their results, and the definitions of their tools. */
import type { Json } from '../../common/json.ts';
import { ToolBook } from '../../trace/recordedCalls/definitions.ts';
import type { RecordedTool } from '../../trace/recordedCalls/schema.ts';
import type { Change } from '../../trace/schema/world.ts';
import type { ToolDefinition } from '../submission/world.ts';

/** A recorded call that has ended, as its agent saw it. */
export interface SeenCall {
  readonly seq: number;
  readonly name: string;
  readonly arguments: Json;
  readonly response: Json;
  readonly failed: boolean;
}

/** A recorded attempt, up to an event. */
export interface Recording {
  readonly calls: readonly SeenCall[];
  /** What the calls changed in the world, in order. */
  readonly changes: readonly Change[];
  /** Tools as its agents got them. None if they are not recorded. */
  readonly tools: readonly RecordedTool[];
}

/** Returns the tools of recordings, each once: as recorded, or else as their calls look. */
export function toolsOfRecordings(recordings: readonly Recording[]): ToolDefinition[] {
  const book = new ToolBook();
  for (const { tools, calls } of recordings) {
    book.define(tools);
    if (tools.length === 0) book.called(calls);
  }
  return book.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
}
