/**
 * VS Code's part of package.json, generated from the contributions in src/host. `npm run check` fails if it is out of
 * date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { manifest } from '../host/contributions.ts';
import { root as projectRoot } from './bundles.ts';

const record = z.record(z.string(), z.unknown());

/** Returns package.json with everything in src/host/contributions.ts. */
function rendered(text: string): string {
  const current = record.parse(JSON.parse(text));
  // `engines` contains both Node and VS Code; everything else comes from src/host.
  const engines = { ...record.parse(current['engines']), ...record.parse(manifest['engines'] ?? {}) };
  return `${JSON.stringify({ ...current, ...manifest, engines }, null, 2)}\n`;
}

/** Returns one line if package.json does not match the sources. */
export function staleManifest(root: string): string[] {
  const text = readFileSync(path.join(root, 'package.json'), 'utf8');
  return rendered(text) === text.replaceAll('\r\n', '\n')
    ? []
    : ['package.json: does not match src/host/contributions.ts; run npm run manifest'];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = path.join(projectRoot, 'package.json');
  writeFileSync(file, rendered(readFileSync(file, 'utf8')));
  console.log('package.json');
}
