/**
 * The script that the server's pod starts: joins the pieces of the programs, unpacks them, and continues as the server.
 * `node bootstrap.mjs PIECES FOLDER SHA ENTRY [ARGUMENT…]`
 */
import { UNPACK_SCRIPT } from './unpackScript.ts';

export const SERVER_BOOTSTRAP = `${UNPACK_SCRIPT}
import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [pieces, folder, sha, entry] = process.argv.slice(2);
const names = readdirSync(pieces).filter((name) => /^[0-9]+$/.test(name)).sort((a, b) => a - b);
unpack(Buffer.concat(names.map((name) => readFileSync(path.join(pieces, name)))), sha, folder);
const file = path.join(folder, 'dist', entry + '.mjs');
process.argv.splice(1, 5, file);
await import(pathToFileURL(file).href);
`;
