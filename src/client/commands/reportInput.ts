/** Reads the input of a batch’s statistics from a server. */
import { isFaultRule } from '../../config/submission/rule.ts';
import { type Submission, submission } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import { controlsOf } from '../../protocol/batchControls.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Report } from '../../trace/statistics/schema.ts';
import type { ReportInput } from '../../trace/statistics.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { scenarioOfTask } from '../../trace/task.ts';

/** @param rows The rows of all tries, if the caller already has them. */
export async function reportInput(
  api: Api,
  batch: BatchRow,
  ks: readonly number[],
  signal: AbortSignal,
  rows?: Iterable<RolloutRow>,
): Promise<ReportInput> {
  const [all, { levels, scenarios, repeated }, submitted, delivered, events] = await Promise.all([
    rows === undefined ? Array.fromAsync(api.allRollouts(batch.batch, { all: 1 }, signal)) : [...rows],
    groupsOf(api, batch.batch, signal),
    batch.imported ? undefined : readSubmission(api, batch.submission, signal),
    batch.groups === undefined ? undefined : deliveredOf(api, batch.batch, signal),
    infraOf(api, batch.batch, signal),
  ]);
  const passesPerTask = submitted?.stop.passes_per_task;
  return {
    batch: batch.batch,
    rows: all,
    levels,
    scenarios,
    repeated,
    ks,
    tasks: batch.tasks,
    at: batch.state === 'ended' ? 'ended' : Date.now(),
    ...controlsOf(batch),
    ...(passesPerTask === undefined ? {} : { passesPerTask }),
    ...delivered,
    events,
    requestedAgain: batch.repeated,
    perturb: perturbOf(submitted),
    ...judgeOf(submitted),
  };
}

function judgeOf(submitted: Submission | undefined): Pick<ReportInput, 'judge'> {
  const scorer = submitted?.scorer;
  return scorer?.kind === 'judge' && scorer.subject === 'observation' ? { judge: scorer.model.name } : {};
}

function perturbOf(submitted: Submission | undefined): ReportInput['perturb'] {
  const rules = (submitted?.world?.perturb ?? []).filter(isFaultRule);
  return rules.length === 0
    ? undefined
    : { rules: rules.map(({ name }) => name), on: submitted?.no_perturb === undefined };
}

/** Returns by what the tasks of a batch are grouped, by task ID. */
async function groupsOf(
  api: Api,
  batch: string,
  signal: AbortSignal,
): Promise<Required<Pick<ReportInput, 'levels' | 'scenarios' | 'repeated'>>> {
  const levels = new Map<string, string | number>();
  const scenarios = new Map<string, string>();
  const repeated = new Map<string, string>();
  let after: number | undefined;
  do {
    const page = await api.tasks(batch, { limit: 1000, excerpt: 1, ...(after === undefined ? {} : { after }) }, signal);
    for (const task of page.tasks) {
      const scenario = scenarioOfTask(task);
      if (task.level !== undefined) levels.set(task.id, task.level);
      if (scenario !== undefined) scenarios.set(task.id, scenario);
      if (task.of !== undefined) repeated.set(task.id, task.of);
    }
    after = page.next;
  } while (after !== undefined);
  return { levels, scenarios, repeated };
}

/** Returns what the filter of a batch left out of its groups, and what was replayed with them. */
async function deliveredOf(
  api: Api,
  batch: string,
  signal: AbortSignal,
): Promise<Pick<Report, 'filtered' | 'replayed'>> {
  const left = { groups: 0, tokens: 0 };
  const again = { groups: 0, rollouts: 0 };
  for await (const { filtered, replayed } of api.allGroups(batch, signal)) {
    if (filtered !== undefined) {
      left.groups += 1;
      left.tokens += filtered.tokens;
    }
    if (replayed !== undefined) {
      again.groups += 1;
      again.rollouts += replayed;
    }
  }
  return { filtered: left, replayed: again };
}

/** Returns what the server recorded of the infrastructure. */
async function infraOf(api: Api, batch: string, signal: AbortSignal): Promise<TraceEvent[]> {
  const infra: TraceEvent[] = [];
  for await (const events of api.allEvents(batch, signal)) infra.push(...events.filter(({ kind }) => kind === 'infra'));
  return infra;
}

/** Reads the submission of a batch. */
export async function readSubmission(api: Pick<Api, 'getBlob'>, sha: string, signal: AbortSignal): Promise<Submission> {
  return submission.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(sha, signal))));
}
