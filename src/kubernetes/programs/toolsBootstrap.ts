/**
 * The scripts of the other containers of a worker's pod. They have no token, so they get the programs from the worker.
 */
import { FIRST_PROCESS, READY_FILE } from './workerBootstrap.ts';

/**
 * Makes the folder of working directories, `node --eval SCRIPT FOLDER`, before any container of the pod has it: it
 * belongs to the worker, so that programs cannot replace the directories of others.
 */
export const PREPARE_SCRIPT = `
const { chmodSync, mkdirSync } = require('node:fs');
const [folder] = process.argv.slice(1);
mkdirSync(folder, { recursive: true });
chmodSync(folder, 0o1730);
`;

/** Waits for the programs, and continues as the tool server: `node --eval SCRIPT PROGRAMS SOCKET`. */
export const TOOLS_SCRIPT = `
const { existsSync, mkdirSync } = require('node:fs');
const [programs, socket] = process.argv.slice(1);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
for (const name of ['HOME', 'TMPDIR']) if (process.env[name]) mkdirSync(process.env[name], { recursive: true });
// What follows --eval is this script.
const options = process.execArgv.slice(0, process.execArgv.indexOf('--eval'));
function start() {
  if (!existsSync(programs + '/${READY_FILE}')) return setTimeout(start, 50);
  const command = [process.execPath, ...options, programs + '/dist/toolServer.mjs', socket];
  // As in the container of the worker, a shell reaps the processes that programs leave.
  if (existsSync('/bin/sh'))
    process.execve('/bin/sh', ['/bin/sh', '-c', ${JSON.stringify(FIRST_PROCESS)}, '/bin/sh', ...command], process.env);
  process.execve(process.execPath, command, process.env);
}
start();
`;
