/**
 * `npm run demo`: the main job on the embedded defaults. Makes the sample workspace, runs its batch through the real
 * server, workers, world and scorer, prints the report, and shows one attempt.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { root } from './bundles.ts';

const cli = path.join(root, 'dist', 'cli.mjs');
const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-demo-'));
const workspace = path.join(folder, 'workspace');
const store = path.join(folder, 'store');

/** Runs the command line; its end ends the demo when it failed. */
function rollout(args: readonly string[], capture = false): string {
  if (!capture) console.log(`\n$ rollout ${args.join(' ')}`);
  const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', cli, ...args, '--store', store], {
    cwd: workspace.length > 0 && args[0] !== 'init' ? workspace : folder,
    stdio: ['inherit', capture ? 'pipe' : 'inherit', 'inherit'],
    encoding: 'utf8',
  });
  if (done.status !== 0) process.exit(done.status ?? 3);
  return done.stdout;
}

rollout(['init', workspace]);
rollout(['run', path.join('batches', 'desk.batch.yaml')]);
const batches = z.object({ batches: z.array(z.object({ batch: z.string() })) }).parse(JSON.parse(rollout(['batches', '--json'], true)));
const batch = batches.batches[0]?.batch ?? '';
const task = z.object({ id: z.string() }).parse(JSON.parse(readFileSync(path.join(workspace, 'data', 'tasks.jsonl'), 'utf8').split('\n')[0] ?? ''));
rollout(['show', `${batch}/${task.id}/1`]);

console.log(`
The answers came from the embedded demo model: a program with rules and seeded mistakes, not a language model.
workspace  ${workspace}
store      ${store}
next       npm run -s rollout -- batches --store ${store}
           npm run -s rollout -- show ${batch}/${task.id}/2 --store ${store}`);
