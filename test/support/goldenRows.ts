/** Rows for trainers, rendered by our formats from a recorded batch: what `npm run test:trainers` loads in trainers. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { Export } from '../../src/client/export/run.ts';
import { exportRedaction } from '../../src/common/redaction/exported.ts';
import { TRAINING_FORMATS } from '../../src/formats/training/registry.ts';
import { Api } from '../../src/protocol/api.ts';
import type { Transport } from '../../src/protocol/transport.ts';
import { type Recording, replaying } from './recordedRequests.ts';

export const GOLDEN_FOLDER = path.join(import.meta.dirname, '..', 'fixtures', 'trainers');
/** Parquet is not text; its rows are those of `groups`. */
export const GOLDEN_FORMATS: readonly string[] = TRAINING_FORMATS.filter(({ file }) => file === 'jsonl').map(
  ({ id }) => id,
);

const recordingFile = z.object({
  batch: z.string(),
  texts: z.record(z.string(), z.string()),
  blobs: z.record(z.string(), z.string()),
});

/** Returns the recorded batch. */
export function readRecording(): Recording & { readonly batch: string } {
  return recordingFile.parse(JSON.parse(readFileSync(path.join(GOLDEN_FOLDER, 'recording.json'), 'utf8')));
}

/** Returns the file of each format: one line a row. */
export async function renderRows(
  batch: string,
  transport: Transport = replaying(readRecording()),
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const format of GOLDEN_FORMATS) {
    const settings = {
      ...{ batches: [batch], format, selection: {}, nullReward: undefined },
      redaction: exportRedaction([], {}),
    };
    const written = await Export.prepare(new Api(transport), settings, new AbortController().signal);
    const parts = await Array.fromAsync(written.bytes());
    files.set(format, Buffer.concat(parts).toString('utf8'));
  }
  return files;
}
