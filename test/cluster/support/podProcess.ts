/** Finds the first process of a container of a pod whose node is this machine, as the kit’s nodes are. Linux only. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { Pod } from '../../../src/kubernetes/access/objects.ts';

/** What only the command of each container names. */
const MARKS = { worker: '/rollout/config', tools: '/rollout/socket' } as const;

/** Returns the process by its ID on this machine. */
export function podProcess(pod: Pod, container: keyof typeof MARKS): number {
  const { uid = '' } = pod.metadata;
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const words = read(pid, 'cmdline').split('\0');
      const isWorker = words.includes(MARKS.worker);
      const isOf = container === 'worker' ? isWorker : !isWorker && words.some((word) => word.startsWith(MARKS.tools));
      // It is number 1 of the container’s own processes.
      return isOf && /^NSpid:.*\t1$/m.test(read(pid, 'status')) && read(pid, 'cgroup').includes(uid);
    })
    .map(Number);
  assert.equal(found.length, 1, `the first process of ${container} in pod ${pod.metadata.name}`);
  return found[0] ?? 0;
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it ended
  }
}
