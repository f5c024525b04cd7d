/** Keeps a driven session as a file: a demonstration, a reference solution, or a test. */
import path from 'node:path';
import { testCase } from '../../client/toolCalls/testCase.ts';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { DrivenSession } from '../../formats/drive.ts';
import type { KeptAs } from '../../protocol/drive.ts';
import type { Verdict } from '../../rollout/ports.ts';
import type { Drive } from './drive.ts';

export interface KeptFile {
  /** Relative to the folder of the workspace. */
  readonly path: string;
  readonly text: string;
}

const FOLDERS: Readonly<Record<KeptAs, string>> = {
  demonstration: 'demonstrations',
  solution: 'solutions',
  test: 'tests',
};

/**
 * Returns the file of the path from the start to the current state. `copy`: from 1, part of its name if there are
 * earlier ones. Throws StudioError `usage` if it has no calls.
 */
export function keptFile(
  drive: Drive,
  as: KeptAs,
  verdict: Verdict | undefined,
  answer: Json | undefined,
  copy = 1,
): KeptFile {
  const { path: calls, from } = drive;
  if (calls.length === 0)
    throw new StudioError('usage', 'No call was made, so there is nothing to keep.', { hint: 'Make a call first.' });
  const { world, task, seed } = from;
  const name = `${world.name}.${task.id}`.replaceAll(/[^\w.-]+/g, '-') + (copy === 1 ? '' : `.${copy}`);
  const folder = FOLDERS[as];
  if (as === 'test') return { path: `${folder}/${name}.test.ts`, text: testText(drive, folder, `${name}.test.ts`) };
  const { scenario } = task.world ?? {};
  const index = task.meta['task_idx'];
  const session: DrivenSession = {
    driven: 1,
    world: world.name,
    kind: world.kind,
    ...(scenario === undefined ? {} : { scenario }),
    ...(typeof index === 'number' ? { task_idx: index } : {}),
    seed,
    task: {
      id: task.id,
      question: task.question,
      ...(task.answer === undefined ? {} : { answer: task.answer }),
    },
    calls: calls.map((call) => ({ ...call, changes: [...call.changes] })),
    ...(answer === undefined ? {} : { answer }),
    ...(verdict === undefined ? {} : { verdict: { ...verdict, checks: [...(verdict.checks ?? [])] } }),
  };
  return { path: `${folder}/${name}.json`, text: `${JSON.stringify([session], null, 2)}\n` };
}

/** A test of the last call, which is made after those before it. */
function testText({ path: calls, from }: Drive, folder: string, file: string): string {
  const { world, task, seed } = from;
  const last = calls.at(-1);
  if (world.kind !== 'module' || last === undefined)
    throw new StudioError('unsupported', `Worlds of kind ${world.kind} cannot be tested with Node.js.`, {
      hint: 'Keep the session as a reference solution.',
    });
  return testCase({
    name: last.tool,
    arguments: last.arguments,
    result: last.error === undefined ? (last.result ?? null) : undefined,
    error: last.error,
    seed: last.seed,
    recorded: `driven by hand for task ${task.id}`,
    module: path.posix.relative(folder, world.module.file),
    world: {
      seed,
      task: {
        id: task.id,
        question: task.question,
        meta: task.meta,
        ...(task.world === undefined ? {} : { world: task.world }),
      },
      before: calls.slice(0, -1).map(({ tool, arguments: args }) => ({ name: tool, arguments: args })),
    },
    command: `rollout test ${folder}/${file}`,
  });
}
