/**
 * Copies one scenario out of the published files: a small folder in the same format. Its code and verifiers are Python
 * files, too, which can be edited: they replace those in the rows.
 */
import { StudioError } from '../../common/errors.ts';
import { AWM_FILES, type AwmPart, type AwmRow, looseFile } from '../../formats/awm.ts';
import { AwmFolder } from './awmFolder.ts';
import type { PublishedWorlds } from './worlds.ts';

interface ExtractedScenario {
  /** As a world file names it. */
  readonly format: 'awm';
  /** Text by path, relative to the new folder, with `/`. */
  readonly files: readonly (readonly [string, string])[];
}

/** Throws StudioError `unsupported` for formats whose scenarios cannot be extracted yet. */
export async function extractedFiles(
  published: PublishedWorlds,
  key: string,
  signal: AbortSignal,
): Promise<ExtractedScenario> {
  if (!(published instanceof AwmFolder))
    throw new StudioError('unsupported', `Scenarios of ${published.format} cannot be extracted.`, {
      hint: 'Copy the folder of the environment, and edit its files there.',
    });
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
  return { format: 'awm', files };
}
