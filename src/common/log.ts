/** The log of a process. */

type LogLevel = 'info' | 'warning' | 'error';

/** Structured fields of a log line, for filtering. */
export interface LogAbout {
  /** `info` by default. */
  readonly level?: LogLevel;
  readonly batch?: string;
  readonly rollout?: string;
  readonly worker?: string;
}

/** Writes one log line. */
export type Log = (text: string, about?: LogAbout) => void;
