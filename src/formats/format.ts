/** The interface of an import format: converts one file to tasks and finished rollout streams. */
import type { TraceEvent } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';

/** A file to import. The caller decides how it is read. */
export interface SourceFile {
  /** File name without folders, for titles and for locations in messages. */
  readonly name: string;
  /**
   * Yields the elements of a file that is a JSON array, one at a time, since a file can be larger than memory. Can be
   * called several times. Throws StudioError `usage` if the file is not a JSON array.
   */
  elements(): AsyncIterable<SourceElement>;
}

export type SourceElement =
  | { readonly value: unknown }
  /** It is too long. */
  | { readonly why: string };

export interface ImportOptions {
  /** ID of the batch that the rollouts will belong to. */
  readonly batch: string;
  /** The time of import, in ms since the epoch: the `at` of every event whose source has no time. */
  readonly at: number;
}

export interface ImportedRollout {
  /** ID of its task. */
  readonly task: string;
  /** From 1. */
  readonly attempt: number;
  /**
   * Events with seq 1, 2, 3 …; the last is `rollout.end`. Fields that the source lacks are absent. Values are complete:
   * `spill` them before storing the events.
   */
  readonly events: readonly TraceEvent[];
}

export interface SkippedRecord {
  /** File and path within it, such as `results.json[12].traj[3]`. */
  readonly place: string;
  readonly why: string;
}

export interface ImportedRecords {
  /** Suggested name of the batch. */
  readonly name: string;
  readonly tasks: readonly TaskRecord[];
  /** Number of rollouts. */
  readonly count: number;
  /** The highest number of an attempt. */
  readonly attempts: number;
  /** Records that could not be read. All others were read. */
  readonly skipped: readonly SkippedRecord[];
  /** Reads the file again and yields its rollouts one at a time. */
  rollouts(): AsyncIterable<ImportedRollout>;
}

export interface Format {
  /** Name on the command line, such as `tau-bench`. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Returns whether a file has this format, judging by its first kilobytes and its name. */
  detect(head: string, fileName: string): boolean;
  /** Throws StudioError `usage` if the file as a whole does not have this format. */
  read(file: SourceFile, options: ImportOptions): Promise<ImportedRecords>;
}
