/**
 * The server's log: one line per event on stderr. Whoever starts the server redirects it to a file; a cluster collects
 * it.
 */
import { harmlessEntry, harmlessJson } from '../common/harmless.ts';
import type { Log, LogAbout } from '../common/log.ts';

export const LOG_FORMATS = ['text', 'json'] as const;
/** `text`: for people. `json`: one object per line, for log collectors. */
export type LogFormat = (typeof LOG_FORMATS)[number];

export function stderrLog(format: LogFormat): Log {
  const line = format === 'json' ? jsonLine : textLine;
  return (text, about = {}) => void process.stderr.write(`${line(new Date(), text, about)}\n`);
}

/** Formats a line for people. Leaves out the batch, rollout, and worker: the text contains them. */
export function textLine(time: Date, text: string, { level = 'info' }: LogAbout): string {
  return `${time.toISOString()} ${level === 'info' ? '' : `${level}: `}${harmlessEntry(text)}`;
}

export function jsonLine(time: Date, text: string, { level = 'info', batch, rollout, worker }: LogAbout): string {
  return harmlessJson({ time: time.toISOString(), level, message: text, batch, rollout, worker });
}
