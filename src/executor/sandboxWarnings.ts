/** Reports batches whose modules and programs run without a sandbox, because there is none where they run. */
import { noSandbox } from '../config/needs.ts';
import { DEFAULT_SANDBOX, modulesOf, type Submission, type SubmittedTools, toolsOf } from '../config/submission.ts';
import type { EventData } from '../trace/schema.ts';

type Place = 'machine' | 'pods';

const WARNINGS: Readonly<Record<Place, (reason: string) => string>> = {
  machine: (reason) =>
    `Tools run without a sandbox, with all rights of the user: ${reason}. To refuse that, use ` +
    '`sandbox: required` in the batch file.',
  pods: (reason) =>
    `Rollouts in the same pod can reach each other, because their tools have no sandbox: ${reason}. To separate ` +
    'them, use `pods: { isolation: pod }` in the batch file.',
};

/**
 * Returns a warning for the batch's stream if there is no sandbox. `reasonOf` returns why there is none; undefined if
 * there is one. Throws StudioError `config` if the batch requires one.
 */
export async function sandboxWarnings(
  submission: Submission,
  reasonOf: () => Promise<string | undefined>,
  place: Place = 'machine',
): Promise<EventData['infra'][]> {
  const { mode } = submission.sandbox ?? DEFAULT_SANDBOX;
  const isConcerned = modulesOf(submission).length > 0 || toolsOf(submission).some(startsPrograms);
  if (mode === 'off' || !isConcerned) return [];
  const reason = await reasonOf();
  if (reason === undefined) return [];
  if (mode === 'required') throw noSandbox(reason, place);
  // A container of their own separates tools from the worker in any case.
  if (place === 'pods' && submission.pods?.isolation === 'pod') return [];
  return [{ what: 'no_sandbox', text: WARNINGS[place](reason) }];
}

function startsPrograms(entry: SubmittedTools): boolean {
  switch (entry.kind) {
    case 'builtin':
      return entry.name === 'terminal' || entry.name === 'code' || entry.name === 'browser';
    case 'mcp':
      return 'command' in entry.server;
    case 'module':
      return true;
  }
}
