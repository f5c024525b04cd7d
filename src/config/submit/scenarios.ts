/** The scenarios of a code world that the tasks of a batch name, as they are sent. */
import type { Files } from '../files.ts';
import { scenarioName } from '../load/scenarios.ts';
import type { LoadedCodeWorld } from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import { relative } from '../paths.ts';
import type { Problem } from '../source/problem.ts';
import { type SubmittedScenario, TEMPLATE_TIME } from '../submission/world.ts';
import type { SubmittedCodeWorld } from '../submission.ts';
import type { SubmitPorts } from '../submit.ts';
import type { SubmissionBlob } from './blobs.ts';
import { fileTasks } from './fileTasks.ts';

/** A scenario, read from its published files. */
export interface ScenarioFiles {
  readonly code: SubmissionBlob;
  readonly template: SubmissionBlob;
  readonly verifiers: SubmissionBlob;
  /** Where its code is; `file` is absolute. */
  readonly place: SubmittedScenario['place'];
  /** Tools that never write. Absent: unknown. */
  readonly pure?: readonly string[] | undefined;
  /** Warnings: parts of its initial state that are left out. */
  readonly problems: readonly Problem[];
}

export interface SentScenarios {
  readonly scenarios: SubmittedCodeWorld['scenarios'];
  readonly blobs: readonly SubmissionBlob[];
  readonly problems: readonly Problem[];
}

/** Reads scenarios. Their paths are relative to `root`. Throws StudioError `config` for one that cannot run. */
export async function sentScenarios(
  names: readonly string[],
  world: LoadedCodeWorld,
  root: string,
  { scenarios: read }: Pick<SubmitPorts, 'scenarios'>,
): Promise<SentScenarios> {
  const { clock } = world.file;
  const now = typeof clock === 'object' ? clock.start : TEMPLATE_TIME;
  const scenarios: Record<string, SubmittedScenario> = {};
  const blobs = new Map<string, SubmissionBlob>();
  const problems: Problem[] = [];
  for (const [name, { place, pure, problems: own, ...parts }] of await read(world.scenarios, names, now)) {
    const { code, template, verifiers } = parts;
    for (const blob of [code, template, verifiers]) blobs.set(blob.sha, blob);
    problems.push(...own);
    scenarios[name] = {
      code: code.sha,
      template: template.sha,
      verifiers: verifiers.sha,
      place: { ...place, file: relative(root, place.file) },
      ...(pure === undefined ? {} : { pure: [...pure] }),
    };
  }
  return { scenarios, blobs: [...blobs.values()], problems };
}

/** Returns the scenarios that the tasks of a batch name, sorted. Throws StudioError `config` for an invalid record. */
export async function scenariosOf(loaded: LoadedBatch, world: LoadedCodeWorld, files: Files): Promise<string[]> {
  const names = new Set<string>();
  for await (const task of fileTasks(loaded, files)) {
    const name = scenarioOf(task, world);
    if (name !== undefined) names.add(name);
  }
  return [...names].sort();
}

/** Returns the name of a task's scenario, as the submission has it. */
export function scenarioOf(
  { world }: { readonly world?: { readonly scenario?: string } },
  { file, scenarios }: LoadedCodeWorld,
): string | undefined {
  const written = world?.scenario ?? file.scenario;
  return written === undefined ? undefined : scenarioName(scenarios, written);
}
