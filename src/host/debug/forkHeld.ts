/** Launches forks for the debugger through the CLI. Does not depend on VS Code. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { ForkRequest, ForkResult } from '../../debug/sessionPorts.ts';

const forkReply = z.object({
  batch: z.string(),
  differs: z.array(z.string()),
  warnings: z.array(z.string()),
});

/** @param run Runs `rollout ARGS` and returns its JSON document. */
export async function forkHeld(
  { rollout, seq, edits, acceptIrreversible, runs, by }: ForkRequest,
  run: (args: readonly string[]) => Promise<unknown>,
): Promise<ForkResult> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-fork-'));
  try {
    const args = ['fork', `${rollout}@${seq}`, '--hold', '--held-by', by, '--detach'];
    if (edits.length > 0) {
      const file = path.join(folder, 'edits.json');
      await writeFile(file, JSON.stringify(edits), { mode: 0o600 });
      args.push('--edit', file);
    }
    if (acceptIrreversible) args.push('--accept-irreversible');
    for (const [option, value] of [
      ['--batch', runs.file],
      ['--agent', runs.agent],
      ['--model', runs.model],
      ['--endpoint', runs.endpoint],
    ] as const) {
      if (value !== undefined) args.push(option, value);
    }
    return forkReply.parse(await run(args));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
