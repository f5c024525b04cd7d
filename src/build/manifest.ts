/**
 * VS Code's part of package.json: generated from what src/host says it contributes, and kept fresh by `npm run check`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { manifest } from '../host/contributions.ts';
import { root as projectRoot } from './bundles.ts';

const record = z.record(z.string(), z.unknown());

/** package.json with everything of src/host/contributions.ts in it. */
function rendered(text: string): string {
  const there = record.parse(JSON.parse(text));
  // VS Code's engine stands beside Node's; everything else is src/host's alone.
  const engines = { ...record.parse(there['engines']), ...record.parse(manifest['engines'] ?? {}) };
  return `${JSON.stringify({ ...there, ...manifest, engines }, null, 2)}\n`;
}

/** One line when package.json is not what the sources say. */
export function staleManifest(root: string): string[] {
  const text = readFileSync(path.join(root, 'package.json'), 'utf8');
  return rendered(text) === text.replaceAll('\r\n', '\n')
    ? []
    : ['package.json: is not what src/host/contributions.ts says; run npm run manifest'];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = path.join(projectRoot, 'package.json');
  writeFileSync(file, rendered(readFileSync(file, 'utf8')));
  console.log('package.json');
}
