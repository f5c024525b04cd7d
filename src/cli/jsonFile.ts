import path from 'node:path';
import { diskError } from '../client/disk.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { readRegularSync } from '../tools/regularFile.ts';

/** Reads the arguments of a call from a JSON file. Throws StudioError `config`. */
export function readJsonFile(cwd: string, file: string): Json {
  try {
    return JSON.parse(readRegularSync(path.resolve(cwd, file))) as Json;
  } catch (error) {
    if (StudioError.is(error)) throw diskError(file, error);
    throw new StudioError('config', `${file}: ${errorText(error)}.`, {
      hint: 'The file must contain the arguments as one JSON object.',
      cause: error,
    });
  }
}
