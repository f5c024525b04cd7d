/** The definitions of recorded tools: as the agents got them, or inferred from the calls. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { TrajectoryModel } from '../model.ts';
import type { ReadBlob } from '../spill.ts';
import { type RecordedCall, type RecordedTool, recordedTool } from './schema.ts';

const definitions = z.array(recordedTool.omit({ pure: true }));

/** Returns the definitions that the agents of a trajectory got; the first of each name. */
export async function definitionsIn(model: TrajectoryModel, read: ReadBlob): Promise<RecordedTool[]> {
  const shas = new Set<string>();
  for (const event of model.events) {
    if ('unknown' in event || event.kind !== 'model.start' || event.data.side !== undefined) continue;
    if (event.data.tools !== undefined) shas.add(event.data.tools);
  }
  const found = new Map<string, RecordedTool>();
  for (const sha of shas) {
    const tools = await readDefinitions(sha, read);
    for (const tool of tools) if (!found.has(tool.name)) found.set(tool.name, tool);
  }
  return [...found.values()];
}

/** Returns none if the store no longer has them: they are inferred then. */
async function readDefinitions(sha: string, read: ReadBlob): Promise<RecordedTool[]> {
  try {
    const bytes = await read({ $blob: sha, bytes: 0, media: 'application/json', head: '' });
    return definitions.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    if (StudioError.is(error, 'not_found') || StudioError.is(error, 'gone')) return [];
    throw error;
  }
}

/** Collects the tools of several attempts: recorded definitions, the first of each name, and inferred ones. */
export class ToolBook {
  readonly #defined = new Map<string, RecordedTool>();
  readonly #called = new Map<string, { calls: number; pure: boolean; readonly keys: Map<string, KeyUse> }>();

  define(tools: readonly RecordedTool[]): void {
    for (const tool of tools) if (!this.#defined.has(tool.name)) this.#defined.set(tool.name, tool);
  }

  called(calls: readonly Pick<RecordedCall, 'name' | 'arguments' | 'pure'>[]): void {
    for (const { name, arguments: args, pure } of calls) {
      let tool = this.#called.get(name);
      if (tool === undefined) this.#called.set(name, (tool = { calls: 0, pure: true, keys: new Map() }));
      tool.calls++;
      if (pure !== true) tool.pure = false;
      for (const [key, value] of isJsonObject(args) ? Object.entries(args) : []) {
        const use = tool.keys.get(key) ?? { calls: 0, types: new Set() };
        tool.keys.set(key, { calls: use.calls + 1, types: use.types.add(typeOf(value)) });
      }
    }
  }

  /** Returns the definitions. Without a recorded one, it has the keys of all calls and the types of their values. */
  get tools(): RecordedTool[] {
    const inferred = [...this.#called.keys()]
      .filter((name) => !this.#defined.has(name))
      .map((name) => this.#infer(name));
    return [...this.#defined.values(), ...inferred].map((tool) =>
      this.#called.get(tool.name)?.pure === true ? { ...tool, pure: true } : tool,
    );
  }

  #infer(name: string): RecordedTool {
    const { keys, calls } = this.#called.get(name) ?? { keys: new Map<string, KeyUse>(), calls: 0 };
    const properties: JsonObject = {};
    for (const [key, { types }] of keys) {
      if (types.has('number')) types.delete('integer');
      const [only = 'null', ...more] = [...types].sort();
      properties[key] = { type: more.length === 0 ? only : [only, ...more] };
    }
    const required = [...keys].flatMap(([key, use]) => (use.calls === calls ? [key] : []));
    const parameters = { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
    return { name, description: '', parameters };
  }
}

interface KeyUse {
  readonly calls: number;
  readonly types: Set<string>;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
