/** Finished rollouts for pages: imported, with the usual outcomes. */
import { newId } from '../../src/common/ids.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Random } from './random.ts';
import { blobOf, type TestServer, tasks } from './rolloutServer.ts';
import { Stream } from './stream.ts';

const AT_ONCE = 200;

export interface Shape {
  readonly tasks: number;
  readonly attempts: number;
  readonly steps: number;
}

/** Imports a batch of them. Returns its ID and its rollouts by task and attempt. */
export async function importBatch(
  server: TestServer,
  shape: Shape,
): Promise<{ readonly batch: string; readonly rollouts: readonly string[] }> {
  const batch = newId('b');
  const source = blobOf('the file it came from');
  const random = new Random(9);
  const all = tasks(shape.tasks);
  await server.api.putBlob(source.sha, source.bytes);
  await server.api.createBatch({
    batch,
    submission: source.sha,
    open: true,
    tasks: all.slice(0, 1000),
    secrets: {},
    imported: { name: 'nightly', attempts: shape.attempts },
  });
  for (let at = 1000; at < all.length; at += 1000) await server.api.appendTasks(batch, at, all.slice(at, at + 1000));
  const rollouts: string[] = [];
  let part: { rollout: string; task: string; attempt: number; events: TraceEvent[] }[] = [];
  for (const { id } of all) {
    for (let attempt = 1; attempt <= shape.attempts; attempt++) {
      const rollout = newId('r');
      rollouts.push(rollout);
      part.push({ rollout, task: id, attempt, events: finished(batch, id, attempt, shape.steps, random.next()) });
      if (part.length < AT_ONCE) continue;
      await server.api.importRollouts(batch, part);
      part = [];
    }
  }
  if (part.length > 0) await server.api.importRollouts(batch, part);
  await server.api.commandBatch(batch, { command: newId('c'), verb: 'seal', by: 'bench', args: {} });
  return { batch, rollouts };
}

/** A rollout from start to end; `draw` decides its outcome. */
function finished(batch: string, task: string, attempt: number, steps: number, draw: number): TraceEvent[] {
  const s = new Stream();
  s.start({ batch, task, attempt });
  if (steps > 1) s.message('user', `Renew everything overdue for Ada, said ${task} in its attempt ${attempt}.`);
  for (let step = 1; step < steps; step++) {
    const call = { id: `c${step}`, name: `tool_${step % 7}`, arguments: { loan_id: step, days: 14 } };
    s.model(`Step ${step} of attempt ${attempt}: ${'and so on '.repeat(30)}`, [call]);
    const tool = s.toolStart(call.id, call.name, call.arguments);
    s.toolEnd(tool, call.id, { ok: true, rows: [1, 2, 3], text: 'x'.repeat(200) });
  }
  s.model(`All of ${task} is done.`);
  const outcome =
    draw < 0.55
      ? { passed: true, reward: 1 }
      : draw < 0.9
        ? { passed: false, reward: 0 }
        : draw < 0.96
          ? { status: 'truncated' as const, passed: false, reward: 0 }
          : {
              status: 'infrastructure' as const,
              passed: null,
              reward: null,
              error: { class: 'infrastructure' as const, message: 'the pod is gone' },
            };
  s.end({
    ...outcome,
    totals: {
      steps,
      tool_calls: steps - 1,
      input_tokens: 100 * steps,
      output_tokens: 10 * steps,
      cached_tokens: 0,
      ms: Math.round(draw * 60_000),
      held_ms: 0,
    },
  });
  return s.events;
}
