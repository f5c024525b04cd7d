/**
 * The part of a bootstrap script that unpacks an archive; a script, because a pod has nothing but Node. A bootstrap
 * starts with it and then calls `unpack(packed, sha, folder)`, which throws if the archive does not have the hash
 * `sha`. Ends with 2 (do not retry) if Node is too old.
 */
export const UNPACK_SCRIPT = `import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

{
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 19)) {
    console.error('This image has Node ' + process.versions.node + '; 22.19 or newer is required.');
    process.exit(2);
  }
}

function unpack(packed, sha, folder) {
  const whole = brotliDecompressSync(packed);
  const found = createHash('sha256').update(whole).digest('hex');
  if (found !== sha)
    throw new Error('The programs are not the expected ones: sha256 ' + found + ' instead of ' + sha + '.');
  const end = whole.indexOf(10);
  let from = end + 1;
  for (const [name, size] of JSON.parse(whole.toString('utf8', 0, end))) {
    const file = path.join(folder, ...name.split('/'));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, whole.subarray(from, from += size));
  }
}
`;
