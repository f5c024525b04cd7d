/** JSON Schemas of the users' files, for other editors and for what a hover says. */

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

/** Draft 7, which all editors read, of what a user writes (before defaults and units). */
export function jsonSchema(kind: FileKind): JsonObject {
  // plain JSON by its documentation
  return { title: TITLES[kind], ...(z.toJSONSchema(SCHEMAS[kind], { io: 'input', target: 'draft-7' }) as JsonObject) };
}

export function jsonSchemas(): Record<FileKind, JsonObject> {
  return { agent: jsonSchema('agent'), batch: jsonSchema('batch'), world: jsonSchema('world') };
}
