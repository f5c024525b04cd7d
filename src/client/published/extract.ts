/**
 * Copies one scenario out of the published files: a small folder in the same format. For Agent World Model, its code
 * and verifiers are Python files, too, which can be edited: they replace those in the rows.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type AwmRow } from '../../formats/awm.ts';
import { AWM_FILES, type AwmPart, looseFile } from '../../formats/awmFiles.ts';
import { diskFiles } from '../disk.ts';
import { AgentWorldFolder } from './agentWorldFolder.ts';
import { AwmFolder } from './awmFolder.ts';
import type { PublishedWorlds } from './worlds.ts';

interface ExtractedScenario {
  /** As a world file names it. */
  readonly format: 'awm' | 'agent-world';
  /** Text by path, relative to the new folder, with `/`. */
  readonly files: readonly (readonly [string, string])[];
}

export async function extractedFiles(
  published: PublishedWorlds,
  key: string,
  signal: AbortSignal,
): Promise<ExtractedScenario> {
  if (published instanceof AwmFolder) return { format: 'awm', files: await awmFiles(published, key, signal) };
  if (published instanceof AgentWorldFolder)
    return { format: 'agent-world', files: await agentWorldFiles(published, key) };
  throw new Error(`Cannot extract scenarios of ${published.format}.`);
}

/** Returns the files of an environment as they are. */
async function agentWorldFiles(published: AgentWorldFolder, key: string): Promise<[string, string][]> {
  const { checkpoint, questions, collections } = published.files(key);
  const disk = diskFiles(published.folder);
  const files: [string, string][] = [];
  for (const file of [checkpoint, questions, ...collections])
    if (existsSync(path.join(published.folder, file)))
      files.push([file.replaceAll('\\', '/'), await disk.readText(file)]);
  return files;
}

async function awmFiles(published: AwmFolder, key: string, signal: AbortSignal): Promise<[string, string][]> {
  const files: [string, string][] = [];
  const add = (part: AwmPart, rows: readonly object[]): void => {
    if (rows.length > 0) files.push([AWM_FILES[part], rows.map((row) => `${JSON.stringify(row)}\n`).join('')]);
  };
  for (const part of ['scenario', 'tasks', 'schema', 'rows', 'spec'] as const) {
    const row = await published.read(part, key, signal);
    if (row !== undefined) add(part, [row]);
  }
  const code = await published.read('code', key, signal);
  if (code !== undefined) {
    add('code', [code]);
    files.push([looseFile('code', key), code.full_code]);
  }
  const tasks = published.scenarios.find((scenario) => scenario.key === key)?.tasks.length ?? 0;
  for (const part of ['codeVerifier', 'sqlVerifier'] as const) {
    const rows: AwmRow<typeof part>[] = [];
    for (let task = 0; task < tasks; task++) {
      const row = await published.read(part, key, signal, task);
      if (row === undefined) continue;
      rows.push(row);
      files.push([looseFile(part, key, task), row.verification.code]);
    }
    add(part, rows);
  }
  return files;
}
