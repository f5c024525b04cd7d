/** Launches batches through the CLI. Does not depend on VS Code. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Problem } from '../../config/source/problem.ts';
import { problem } from '../server/cliFailure.ts';
import type { Cli } from '../services.ts';
import { type LaunchAnswers, needsTaskFile, runArguments } from './plan.ts';

const launchReply = z.object({ batch: z.string(), warnings: z.array(problem) });

interface BatchRun {
  /** Absolute path of the batch file. */
  readonly file: string;
  readonly cwd: string;
  readonly answers: LaunchAnswers;
  /** Values for `${env:…}`, in addition to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (line: string) => void;
  /** Called with problems that did not prevent the launch. */
  readonly onWarnings?: (warnings: readonly Problem[]) => void;
}

/** Launches a batch and returns its ID. Throws the errors of `Cli.json`. */
export async function runBatch(cli: Cli, { file, answers, onWarnings, ...options }: BatchRun): Promise<string> {
  const run = async (taskFile?: string): Promise<string> => {
    const { batch, warnings } = launchReply.parse(await cli.json(runArguments(file, answers, taskFile), options));
    onWarnings?.(warnings);
    return batch;
  };
  const { tasks } = answers;
  if (tasks.kind !== 'some' || !needsTaskFile(answers)) return run();
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-tasks-'));
  try {
    const taskFile = path.join(folder, 'tasks.json');
    await writeFile(taskFile, JSON.stringify(tasks.ids), { mode: 0o600 });
    return await run(taskFile);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
