/** Converts selected test items to batch files and tasks. */

export interface Selection<File> {
  readonly file: File;
  /** undefined selects the whole file. */
  readonly task?: string;
}

interface FileRun<File> {
  readonly file: File;
  /** `all`: all tasks of the batch file. */
  readonly tasks: 'all' | readonly string[];
}

/** `tasksOf` returns all tasks of a file. Files without remaining tasks are skipped. */
export function runsOf<File>(
  include: readonly Selection<File>[],
  exclude: readonly Selection<File>[],
  tasksOf: (file: File) => readonly string[],
): FileRun<File>[] {
  const runs: FileRun<File>[] = [];
  for (const [file, selected] of Map.groupBy(include, (each) => each.file)) {
    const excluded = exclude.filter((each) => each.file === file);
    if (excluded.some(({ task }) => task === undefined)) continue;
    const excludedTasks = new Set(excluded.map(({ task }) => task));
    const all = tasksOf(file);
    const isWholeFile = selected.some(({ task }) => task === undefined);
    const includedTasks = new Set(selected.map(({ task }) => task));
    const tasks = all.filter((task) => (isWholeFile || includedTasks.has(task)) && !excludedTasks.has(task));
    if (tasks.length > 0) runs.push({ file, tasks: tasks.length === all.length ? 'all' : tasks });
  }
  return runs;
}
