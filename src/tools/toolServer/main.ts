/**
 * Entry point of the tool server: `node toolServer.mjs SOCKET`. It runs in a container without secrets, and starts the
 * programs of tools there for the worker in another one. It ends with a signal; programs end with their connection.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { HEAP_GROWTH } from '../../common/entries.ts';
import { Networks } from '../sandbox/network/networks.ts';
import { type Sandboxes, ToolConnection } from './connection.ts';

setFlagsFromString(HEAP_GROWTH.tools);
// The worker, which has the same group, and programs read and write each other's files; nobody else does.
process.umask(0o007);

const [at = ''] = process.argv.slice(2);
if (at === '') {
  process.stderr.write('Usage: node toolServer.mjs SOCKET\n');
  process.exit(2);
}
const sandboxes: Sandboxes = new Map();
const networks = new Networks({ owner: 'networks', add: () => undefined, remove: () => undefined });
rmSync(at, { force: true }); // of a server before it
const server = createServer((socket) => new ToolConnection(socket, sandboxes, networks));
server.on('error', (error) => {
  process.stderr.write(`Cannot listen on ${at}: ${error.message}\n`);
  process.exit(3);
});
server.listen(at);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
