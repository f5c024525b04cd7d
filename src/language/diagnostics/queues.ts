/** Checks that the server where a batch runs has the queue that its file names, as far as it was seen. */
import { fileKind } from '../../common/fileKinds.ts';
import type { Problem } from '../../config/source/problem.ts';
import { closest } from '../../config/source/suggest.ts';
import { queuesFor } from '../workspace/queues.ts';
import type { Workspace } from '../workspace.ts';

export async function queueProblems(workspace: Workspace, path: string): Promise<Problem[]> {
  const parsed = fileKind(path) === 'batch' ? await workspace.parsed(path) : undefined;
  const known = parsed === undefined ? undefined : queuesFor(workspace, parsed.value);
  // A server without queues ignores the name.
  if (parsed === undefined || known?.named === undefined || known.queues.length === 0) return [];
  const { target, named } = known;
  const names = known.queues.map(({ name }) => name);
  if (names.includes(named)) return [];
  const suggestion = closest(named, names);
  return [
    parsed.problem(['queue'], {
      code: 'unknown_queue',
      severity: 'warning', // the batch may be launched elsewhere
      message: `The target ${target} has no queue \`${named}\``,
      hint: suggestion === undefined ? `Its queues: ${names.join(', ')}.` : `Did you mean \`${suggestion}\`?`,
      fixes: (suggestion === undefined ? names : [suggestion]).map((text) => ({ do: 'replace', text })),
    }),
  ];
}
