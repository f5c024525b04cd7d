/** JSON Schemas of agent, batch, and world files, for other editors and for hovers. */
import { z } from 'zod';
import { type FileKind } from '../common/fileKinds.ts';
import type { JsonObject } from '../common/json.ts';
import { agentFile } from './schema/agentFile.ts';
import { batchFile } from './schema/batchFile.ts';
import { worldFile } from './schema/worldFile.ts';

const SCHEMAS = { agent: agentFile, batch: batchFile, world: worldFile } as const;

const TITLES: Readonly<Record<FileKind, string>> = {
  agent: 'Rollout Studio: agent',
  batch: 'Rollout Studio: batch',
  world: 'Rollout Studio: world',
};

/** Returns the schema of a file as written (before defaults and units), as draft 7, which all editors support. */
export function jsonSchema(kind: FileKind): JsonObject {
  // documented to be plain JSON
  return { title: TITLES[kind], ...(z.toJSONSchema(SCHEMAS[kind], { io: 'input', target: 'draft-7' }) as JsonObject) };
}

export function jsonSchemas(): Record<FileKind, JsonObject> {
  return { agent: jsonSchema('agent'), batch: jsonSchema('batch'), world: jsonSchema('world') };
}
