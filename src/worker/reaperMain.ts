/**
 * Outlives the worker by a moment, however the worker dies: when the pipe from the worker ends, it ends the process
 * groups of the worker's tools and the processes that left those groups, and removes the worker's folders. Lines:
 * `owner <mark>`, `+<pid>`, `-<pid>`, `dir <path>`.
 */
import { createInterface } from 'node:readline';
import { killTree } from '../tools/processes/processTree.ts';
import { endStrays } from '../tools/processes/strays.ts';
import { removeWorkerFolder } from './run/workDirectory.ts';

const groups = new Set<number>();
const folders = new Set<string>();
let owner: string | undefined;
/** Many workers never start a process. */
let used = false;

// A signal to the worker's group is meant for the worker.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line.startsWith('dir ')) folders.add(line.slice(4));
    else if (line.startsWith('owner ')) owner = line.slice(6);
    else if (line.startsWith('+')) {
      used = true;
      groups.add(Number(line.slice(1)));
    } else if (line.startsWith('-')) groups.delete(Number(line.slice(1)));
  })
  .on('close', () => {
    void end();
  });

async function end(): Promise<void> {
  for (const pid of groups) killTree(pid);
  if (used && owner !== undefined) await endStrays(owner);
  await Promise.allSettled([...folders].map(removeWorkerFolder));
}
