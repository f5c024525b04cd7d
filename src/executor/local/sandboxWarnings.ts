/** Reports batches whose modules and programs run without a sandbox, because this machine has none. */
import { noSandbox } from '../../config/needs.ts';
import { DEFAULT_SANDBOX, modulesOf, type Submission, type SubmittedTools, toolsOf } from '../../config/submission.ts';
import type { EventData } from '../../trace/schema.ts';

/**
 * Returns a warning for the batch's stream if there is no sandbox. `reasonOf` returns why this machine has none;
 * undefined if it has one. Throws StudioError `config` if the batch requires one.
 */
export async function sandboxWarnings(
  submission: Submission,
  reasonOf: () => Promise<string | undefined>,
): Promise<EventData['infra'][]> {
  const { mode } = submission.sandbox ?? DEFAULT_SANDBOX;
  const isConcerned = modulesOf(submission).length > 0 || toolsOf(submission).some(startsPrograms);
  if (mode === 'off' || !isConcerned) return [];
  const reason = await reasonOf();
  if (reason === undefined) return [];
  if (mode === 'required') throw noSandbox(reason);
  const text =
    `Tools run without a sandbox, with all rights of the user: ${reason}. To refuse that, use ` +
    '`sandbox: required` in the batch file.';
  return [{ what: 'no_sandbox', text }];
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
