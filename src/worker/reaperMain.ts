/**
 * Outlives the worker by a moment, however that dies: when the pipe from it ends, the process groups its tools left
 * are ended and its folders removed. Lines: `+<pid>`, `-<pid>`, `dir <path>`.
 */
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { killTree } from '../tools/processes/processTree.ts';

const groups = new Set<number>();
const folders = new Set<string>();

// Whoever ends the worker's group by a signal means the worker.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line.startsWith('dir ')) folders.add(line.slice(4));
    else if (line.startsWith('+')) groups.add(Number(line.slice(1)));
    else if (line.startsWith('-')) groups.delete(Number(line.slice(1)));
  })
  .on('close', () => {
    for (const pid of groups) killTree(pid);
    // A process that is just ending may still hold a file.
    void Promise.allSettled([...folders].map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })));
  });
