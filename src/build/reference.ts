/** `npm run reference`: writes docs/reference. `npm run check` fails if a page does not match the sources. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { root as projectRoot } from './bundles.ts';
import { referencePages } from './reference/pages.ts';

/** Returns one line for each page that is missing or out of date. */
export function staleReference(root: string): string[] {
  return referencePages().flatMap(([file, content]) => {
    const full = path.join(root, file);
    const current = existsSync(full) ? readFileSync(full, 'utf8').replaceAll('\r\n', '\n') : undefined;
    return current === content ? [] : [`${file}: is out of date; run npm run reference`];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, content] of referencePages()) {
    mkdirSync(path.dirname(path.join(projectRoot, file)), { recursive: true });
    writeFileSync(path.join(projectRoot, file), content);
    console.log(file);
  }
}
