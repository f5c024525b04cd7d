/** What the parts of a batch's mix will be, before it runs. */
import type { Json, JsonObject } from '../../common/json.ts';
import type { Submission, SubmittedModel } from '../submission.ts';
import { mergedSampling, partAt } from './mix.ts';

export interface PlannedPart {
  readonly name: string;
  readonly attempts: number;
  /** Parameters of the agent's model, as its attempts send them. */
  readonly sampling: JsonObject;
  /** Path of its own prompt; null for one that is written in the batch file. Absent: the agent's. */
  readonly prompt?: string | null;
}

/** Returns the parts in the order of the batch file, if all attempts of the tasks run; empty without a mix. */
export async function plannedParts(
  submission: Pick<Submission, 'mix' | 'seed' | 'attempts' | 'agent'>,
  tasks: AsyncIterable<{ readonly id: string }>,
): Promise<PlannedPart[]> {
  const { mix, attempts, agent } = submission;
  if (mix === undefined) return [];
  const counts = new Map<string, number>();
  for await (const { id } of tasks)
    for (let place = 1; place <= attempts; place++) {
      const { name = '' } = partAt(submission, id, place) ?? {};
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  return mix.map(({ name, sampling = {}, prompt }): PlannedPart => {
    return {
      name,
      attempts: counts.get(name) ?? 0,
      sampling: sentSampling(mergedSampling(agent.model.sampling, sampling)),
      ...(prompt === undefined ? {} : { prompt: prompt.file ?? null }),
    };
  });
}

/** Returns parameters as a request has them. */
export function sentSampling({ extra, ...own }: SubmittedModel['sampling']): JsonObject {
  return Object.fromEntries(
    Object.entries<Json | undefined>({ ...own, ...extra }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value]],
    ),
  );
}

/** Returns parameters in one line, e.g. `temperature 1, top_k 4`. */
export function samplingText(sampling: PlannedPart['sampling']): string {
  return Object.entries(sampling)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
