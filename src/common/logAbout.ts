/** What a line of a log is about, for those who filter logs by it. */
export type LogLevel = 'info' | 'warning' | 'error';

export interface LogAbout {
  /** `info` unless told. */
  readonly level?: LogLevel;
  readonly batch?: string;
  readonly rollout?: string;
  readonly worker?: string;
}
