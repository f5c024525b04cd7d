/** The names of a trajectory: of its task, and of its tab. */
import { taskName } from '../../src/trace/task.ts';
import type { TrajectoryData } from '../data/trajectoryData.ts';

/** Longer titles of tabs push the other tabs away. */
const TITLE_CHARS = 60;

type Names = Pick<TrajectoryData, 'info' | 'batch'>;

/** Returns the name of the task: its text in a recording. undefined until it is loaded. */
export function taskNameOf({ info, batch }: Names, max?: number): string | undefined {
  return info === undefined ? undefined : taskName(info.task, batch?.imported === true, max);
}

/** Returns the title of the tab; empty while it is not known, so that a restored tab keeps its own. */
export function titleOf(names: Names): string {
  const { info, batch } = names;
  return info === undefined || batch === undefined ? '' : `${taskNameOf(names, TITLE_CHARS)} · ${info.row.attempt}`;
}

/** Returns the text of the task, under its ID, for the tooltip of its name. */
export function taskTitle({ info }: Names): string | undefined {
  return info === undefined ? undefined : `${info.task.id}\n${info.task.question}`.trim();
}
