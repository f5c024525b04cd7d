/**
 * The JSON Schemas of the users' files, published in media/schemas for other editors. `npm run check` fails if they are
 * out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonSchemas } from '../config/jsonSchema.ts';
import { root as projectRoot } from './bundles.ts';

function rendered(): [file: string, text: string][] {
  return Object.entries(jsonSchemas()).map(([kind, schema]) => [
    `media/schemas/${kind}.schema.json`,
    `${JSON.stringify(schema, null, 2)}\n`,
  ]);
}

/** Returns one line for each published schema that does not match the sources. */
export function staleSchemas(root: string): string[] {
  return rendered().flatMap(([file, text]) => {
    let published: string | undefined;
    try {
      published = readFileSync(path.join(root, file), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return published === text ? [] : [`${file}: does not match src/config; run npm run schemas`];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of rendered()) {
    mkdirSync(path.dirname(path.join(projectRoot, file)), { recursive: true });
    writeFileSync(path.join(projectRoot, file), text);
    console.log(file);
  }
}
