import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorText, StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';

/** Reads the arguments of a call from a JSON file. Throws StudioError `config`. */
export function readJsonFile(cwd: string, file: string): Json {
  try {
    return JSON.parse(readFileSync(path.resolve(cwd, file), 'utf8')) as Json;
  } catch (error) {
    throw new StudioError('config', `${file}: ${errorText(error)}.`, {
      hint: 'The file must contain the arguments as one JSON object.',
      cause: error,
    });
  }
}
