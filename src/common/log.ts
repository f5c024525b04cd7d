/** A process's log: who writes a line, and what it is about. */

export type LogLevel = 'info' | 'warning' | 'error';

/** What a line of a log is about, so that logs can be filtered. */
export interface LogAbout {
  /** `info` by default. */
  readonly level?: LogLevel;
  readonly batch?: string;
  readonly rollout?: string;
  readonly worker?: string;
}

/** Writes one line: one thing that happened. */
export type Log = (text: string, about?: LogAbout) => void;
