/** The scenarios of a code world that the tasks of a batch name, as they are sent. */
import { scenarioName } from '../load/scenarios.ts';
import type { LoadedCodeWorld } from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import { relative } from '../paths.ts';
import type { SubmittedScenario } from '../submission/world.ts';
import type { SubmittedCodeWorld } from '../submission.ts';
import type { SubmitPorts } from '../submit.ts';
import { fileTasks, type SubmissionBlob } from './blobs.ts';

/** A scenario, read from its published files. */
export interface ScenarioFiles {
  readonly code: SubmissionBlob;
  readonly template: SubmissionBlob;
  readonly tools?: SubmissionBlob;
  readonly verifiers: SubmissionBlob;
  /** Where its code is; `file` is absolute. */
  readonly place: SubmittedScenario['place'];
}

export interface SentScenarios {
  readonly scenarios: SubmittedCodeWorld['scenarios'];
  readonly blobs: readonly SubmissionBlob[];
}

/**
 * Reads the scenarios that tasks name. Throws StudioError `config` for one that cannot run, and for an invalid record
 * of the dataset.
 */
export async function sentScenarios(
  loaded: LoadedBatch,
  world: LoadedCodeWorld,
  { files, scenarios: read }: Pick<SubmitPorts, 'files' | 'scenarios'>,
): Promise<SentScenarios> {
  const names = new Set<string>();
  for await (const task of fileTasks(loaded, files)) {
    const name = scenarioOf(task, world);
    if (name !== undefined) names.add(name);
  }
  const scenarios: Record<string, SubmittedScenario> = {};
  const blobs = new Map<string, SubmissionBlob>();
  for (const [name, { code, template, tools, verifiers, place }] of await read(world.scenarios, [...names].sort())) {
    for (const blob of [code, template, verifiers, ...(tools === undefined ? [] : [tools])]) blobs.set(blob.sha, blob);
    scenarios[name] = {
      code: code.sha,
      template: template.sha,
      ...(tools === undefined ? {} : { tools: tools.sha }),
      verifiers: verifiers.sha,
      place: { ...place, file: relative(loaded.root, place.file) },
    };
  }
  return { scenarios, blobs: [...blobs.values()] };
}

/** Returns the name of a task's scenario, as the submission has it. */
export function scenarioOf(
  { world }: { readonly world?: { readonly scenario?: string } },
  { file, scenarios }: LoadedCodeWorld,
): string | undefined {
  const written = world?.scenario ?? file.scenario;
  return written === undefined ? undefined : scenarioName(scenarios, written);
}
