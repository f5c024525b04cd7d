/**
 * Sessions of worlds that people drove by hand, as `rollout world drive` keeps them: a JSON array with one entry per
 * session. Each becomes a trajectory, whose agent is the person.
 */
import { z } from 'zod';
import { isJsonObject, type Json } from '../common/json.ts';
import { change, check, effect, traceError, worldOutcome } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { Format, ImportedRollout, ImportOptions, SkippedRecord } from './format.ts';
import { StreamWriter } from './streamWriter.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // from JSON.parse

export const drivenSession = z.object({
  /** Version of this format. */
  driven: z.literal(1),
  world: z.string(),
  /** Kind of the world. */
  kind: z.string(),
  /** Of a published world: its scenario, and the index of the task there. */
  scenario: z.string().optional(),
  task_idx: z.number().int().optional(),
  seed: z.number().int(),
  task: z.object({ id: z.string(), question: z.string(), answer: json.optional() }),
  calls: z.array(
    z.object({
      tool: z.string(),
      effect,
      arguments: json,
      seed: z.number().int(),
      result: json.optional(),
      error: traceError.optional(),
      changes: z.array(change),
    }),
  ),
  /** What the person answers. */
  answer: json.optional(),
  /** Of the verifier, in the last state. */
  verdict: z
    .object({
      value: z.number().nullable(),
      passed: z.boolean().nullable(),
      outcome: worldOutcome.optional(),
      parts: z.record(z.string(), z.number()).optional(),
      checks: z.array(check).optional(),
      explanation: z.string().optional(),
    })
    .optional(),
});
export type DrivenSession = z.infer<typeof drivenSession>;

export const drive: Format = {
  id: 'drive',
  name: 'driven sessions of worlds',
  detect: (head) => /^\uFEFF?\s*\[\s*\{\s*"driven"\s*:/.test(head),
  async read(file, options) {
    const skipped: SkippedRecord[] = [];
    const sessions: DrivenSession[] = [];
    let index = 0;
    for await (const element of file.elements()) {
      const place = `${file.name}[${index++}]`;
      const entry = 'why' in element ? undefined : drivenSession.safeParse(element.value);
      if (entry?.success === true) sessions.push(entry.data);
      else
        skipped.push({
          place,
          why: 'why' in element ? element.why : (entry?.error.issues[0]?.message ?? 'another format'),
        });
    }
    const tasks = new Map<string, TaskRecord>();
    const rollouts: ImportedRollout[] = [];
    for (const session of sessions) {
      const { id, question, answer } = session.task;
      tasks.set(id, { id, question, meta: {}, ...(answer === undefined ? {} : { answer }) });
      const attempt = rollouts.filter(({ task }) => task === id).length + 1;
      rollouts.push({ task: id, attempt, events: eventsOf(session, attempt, options) });
    }
    return {
      name: file.name.replace(/\.json$/i, ''),
      tasks: [...tasks.values()],
      count: rollouts.length,
      attempts: rollouts.reduce((most, { attempt }) => Math.max(most, attempt), 0),
      skipped,
      async *rollouts() {
        for (const rollout of rollouts) yield await Promise.resolve(rollout);
      },
    };
  },
};

function eventsOf(session: DrivenSession, attempt: number, { batch, at }: ImportOptions): ImportedRollout['events'] {
  const { world, kind, seed, task, calls, answer, verdict } = session;
  const writer = new StreamWriter({ batch, task: task.id, attempt }, at);
  writer.world({ world, kind, seed });
  writer.openAi({ role: 'user', content: task.question }, NO_ERRORS);
  for (const [index, call] of calls.entries())
    writer.call({
      id: `call_${index + 1}`,
      name: call.tool,
      arguments: isJsonObject(call.arguments) ? call.arguments : {},
      effect: call.effect,
      result: call.result ?? null,
      ...(call.error === undefined ? {} : { error: call.error }),
      changes: call.changes,
    });
  const text = answer === undefined ? '' : typeof answer === 'string' ? answer : JSON.stringify(answer);
  if (text !== '') writer.openAi({ role: 'assistant', content: text }, NO_ERRORS);
  if (verdict !== undefined) writer.score({ scorer: 'world', ...verdict });
  return writer.end({ status: 'done', passed: verdict?.passed ?? null, reward: verdict?.value ?? null });
}

const NO_ERRORS = { isError: () => false };
