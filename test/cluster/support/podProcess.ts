/** Finds the programs of a pod whose node is this machine, as the kit’s nodes are. Linux only. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Pod } from '../../../src/kubernetes/access/objects.ts';

/** Returns the process by its ID on this machine. */
export function podProcess({ metadata: { uid = '', name } }: Pod, program: 'worker' | 'toolServer'): number {
  const found = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      const [command = '', ...words] = read(pid, 'cmdline').split('\0');
      return (
        // The shell above it has the same arguments.
        path.basename(command) === 'node' &&
        words.some((word) => path.basename(word) === `${program}.mjs`) &&
        read(pid, 'cgroup').includes(uid)
      );
    })
    .map(Number);
  assert.equal(found.length, 1, `${program} of pod ${name}: ${found.join(', ')}`);
  return found[0] ?? 0;
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it ended
  }
}
