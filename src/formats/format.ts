/** What every import format is to the rest: a way from one file to tasks and finished rollout streams. */
import type { TraceEvent } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';

/** A file as a format reads it; who opens it decides how. */
interface SourceFile {
  /** Its name without folders, for titles and for places in messages. */
  readonly name: string;
  /** The whole of it, as UTF-8. */
  text(): Promise<string>;
}

export interface ImportOptions {
  /** The batch the rollouts will belong to. */
  readonly batch: string;
  /** The time of import, in ms since the epoch: `at` of every event whose source has no time. */
  readonly at: number;
}

export interface ImportedRollout {
  /** id of its task. */
  readonly task: string;
  /** From 1. */
  readonly attempt: number;
  /**
   * seq 1, 2, 3 …, ended by `rollout.end`. What the source does not tell is absent. Values are whole: `spill` them
   * before they are stored.
   */
  readonly events: readonly TraceEvent[];
}

export interface SkippedRecord {
  /** File and path in it, e.g. `results.json[12].traj[3]`. */
  readonly place: string;
  readonly why: string;
}

export interface ImportedRecords {
  /** A name for the batch. */
  readonly name: string;
  readonly tasks: readonly TaskRecord[];
  readonly rollouts: readonly ImportedRollout[];
  /** What could not be read; everything else was. */
  readonly skipped: readonly SkippedRecord[];
}

export interface Format {
  /** As one names it on the command line, e.g. `tau-bench`. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Whether a file is of this format, by its first kilobytes and its name. */
  detect(head: string, fileName: string): boolean;
  /** Throws StudioError `usage` when the file as a whole is not of this format. */
  read(file: SourceFile, options: ImportOptions): Promise<ImportedRecords>;
}
