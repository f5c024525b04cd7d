/**
 * `npm run demo`: a complete run with the defaults. Creates the sample workspace, runs its batch with the real server,
 * workers, world, and scorer, prints the report, shows one attempt, and on a terminal serves the viewer with the batch
 * until Ctrl-C. `--no-serve` skips the viewer.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { root } from './bundles.ts';

const { values } = parseArgs({
  options: { serve: { type: 'boolean', default: process.stdout.isTTY } },
  allowNegative: true,
});
const cli = path.join(root, 'dist', 'cli.mjs');
const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-demo-'));
const workspace = path.join(folder, 'workspace');
const store = path.join(folder, 'store');

function argvOf(args: readonly string[]): string[] {
  return ['--disable-warning=ExperimentalWarning', cli, ...args, '--store', store];
}

/** Runs the command line; the demo ends if it fails. */
function rollout(args: readonly string[], capture = false): string {
  if (!capture) console.log(`\n$ rollout ${args.join(' ')}`);
  const done = spawnSync(process.execPath, argvOf(args), {
    cwd: args[0] === 'init' ? folder : workspace,
    stdio: ['inherit', capture ? 'pipe' : 'inherit', 'inherit'],
    encoding: 'utf8',
  });
  if (done.status !== 0) process.exit(done.status ?? 3);
  return done.stdout;
}

/** Serves the viewer until it is interrupted. */
async function serveViewer(batch: string): Promise<void> {
  console.log(`\n$ rollout view ${batch}`);
  const viewer = spawn(process.execPath, argvOf(['view', batch]), { cwd: workspace, stdio: 'inherit' });
  // A terminal's Ctrl-C reaches the viewer directly; a signal to this process only is passed on.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) viewer.kill(signal);
    });
  }
  const [code] = (await once(viewer, 'exit')) as [number | null]; // the exit code of a process
  process.exitCode = code ?? 3;
}

rollout(['init', workspace]);
rollout(['run', path.join('batches', 'desk.batch.yaml')]);
const batches = z
  .object({ batches: z.array(z.object({ batch: z.string() })) })
  .parse(JSON.parse(rollout(['batches', '--json'], true)));
const batch = batches.batches[0]?.batch ?? '';
const task = z
  .object({ id: z.string() })
  .parse(JSON.parse(readFileSync(path.join(workspace, 'data', 'tasks.jsonl'), 'utf8').split('\n')[0] ?? ''));
rollout(['show', `${batch}/${task.id}/1`]);

console.log(`
The answers came from the embedded demo model: a program with rules and seeded mistakes, not a language model.
workspace  ${workspace}
store      ${store}
next       npm run -s rollout -- batches --store ${store}
           npm run -s rollout -- show ${batch}/${task.id}/2 --store ${store}
           npm run -s rollout -- view ${batch} --store ${store}`);
if (values.serve) await serveViewer(batch);
