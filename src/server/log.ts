/**
 * The server's log: one line per thing that happened, on stderr (its starter sends that to a file, a cluster collects
 * it).
 */
import type { Log, LogAbout } from '../common/log.ts';

export const LOG_FORMATS = ['text', 'json'] as const;
/** `text`: for people. `json`: one object a line, for programs that collect logs. */
export type LogFormat = (typeof LOG_FORMATS)[number];

export function stderrLog(format: LogFormat): Log {
  const line = format === 'json' ? jsonLine : textLine;
  return (text, about = {}) => void process.stderr.write(`${line(new Date(), text, about)}\n`);
}

/** Without what it is about: the text says it. */
export function textLine(time: Date, text: string, { level = 'info' }: LogAbout): string {
  return `${time.toISOString()} ${level === 'info' ? '' : `${level}: `}${text.replaceAll('\n', '\n  ')}`;
}

export function jsonLine(time: Date, text: string, { level = 'info', batch, rollout, worker }: LogAbout): string {
  return JSON.stringify({ time: time.toISOString(), level, message: text, batch, rollout, worker });
}
