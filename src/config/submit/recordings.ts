/** The recorded calls of a recorded world, as they are sent. */
import { plural } from '../../common/text.ts';
import type { RecordingSource } from '../load/recorded.ts';
import type { LoadedRecordedWorld } from '../load/world.ts';
import { type Problem, problemsError } from '../source/problem.ts';
import type { SubmittedRecordedWorld } from '../submission.ts';
import type { SubmitPorts } from '../submit.ts';
import type { SubmissionBlob } from './blobs.ts';
import { submittedRecordedWorld } from './sections.ts';
import type { WorldTasks } from './worldTasks.ts';

/** A file with recorded calls. */
export interface RecordingFile {
  readonly calls: SubmissionBlob;
  /** The long answers in it. */
  readonly blobs: readonly SubmissionBlob[];
  readonly attempts: readonly { readonly task: string; readonly question: string }[];
  /** Names of the tools. */
  readonly tools: readonly string[];
  /** What is left out of a source, by its index. */
  readonly leftOut: readonly { readonly source: number; readonly text: string }[];
}

/** Thrown by a port that cannot read a source. */
export class SourceError extends Error {
  readonly source: number;
  readonly hint: string | undefined;

  constructor(source: number, message: string, hint: string | undefined, cause?: unknown) {
    super(message, { cause });
    this.source = source;
    this.hint = hint;
  }
}

/** Reads the recordings of a world. Throws StudioError `config`, with the place, for a source that cannot be read. */
export async function submittedRecordings(
  { root, tasks }: Pick<WorldTasks, 'root' | 'tasks'>,
  world: LoadedRecordedWorld,
  { recordings }: Pick<SubmitPorts, 'recordings'>,
): Promise<{
  readonly world: SubmittedRecordedWorld;
  readonly blobs: readonly SubmissionBlob[];
  readonly problems: readonly Problem[];
}> {
  const { parsed, sources } = world;
  const at = (index: number): RecordingSource['at'] => sources[index]?.at ?? ['from'];
  let file: RecordingFile;
  try {
    if (recordings === undefined) throw new SourceError(0, 'recordings cannot be read here', undefined);
    file = await recordings(sources);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const hint = error.hint ?? 'Name another one.';
    throw problemsError([parsed.problem(at(error.source), { code: 'value', message: error.message, hint })], root);
  }
  const problems: Problem[] = file.leftOut.map(({ source, text }) =>
    parsed.problem(at(source), {
      code: 'value',
      severity: 'warning',
      message: text,
      hint: 'They do not answer calls.',
    }),
  );
  const [ids, questions] = [
    new Set(file.attempts.map(({ task }) => task)),
    new Set(file.attempts.map(({ question }) => question)),
  ];
  let others = 0;
  for await (const { id, question } of tasks()) if (!ids.has(id) && !questions.has(question)) others++;
  if (others > 0)
    problems.push(
      parsed.problem(['from'], {
        code: 'value',
        severity: 'warning',
        message: `${plural(others, 'task')} of the batch ${others === 1 ? 'has' : 'have'} no recording`,
        hint: 'All recordings answer in these tasks.',
      }),
    );
  const { tools = [] } = world.file;
  for (const [index, name] of tools.entries())
    if (typeof name === 'string' && !file.tools.includes(name))
      problems.push(
        parsed.problem(['tools', index], {
          code: 'unknown_tool',
          severity: 'warning',
          message: `the recordings have no tool \`${name}\``,
          hint: `Their tools are ${file.tools.join(', ')}.`,
        }),
      );
  return { world: submittedRecordedWorld(world, file, root), blobs: [file.calls, ...file.blobs], problems };
}
