/**
 * Logs a worker's frames as JSON Lines, for debugging the protocol: every frame sent and received, written before the
 * call returns, so that the log is complete even if the worker is killed. Off unless `ROLLOUT_FRAME_LOG` names a
 * folder.
 */
import { mkdirSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';

export type FrameLog = (frame: string) => void;

export function openFrameLog(
  folder: string | undefined,
  worker: string,
  clean: (text: string) => string,
): FrameLog | undefined {
  if (folder === undefined || folder === '') return undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = openSync(path.join(folder, `${worker}.jsonl`), 'a', 0o600);
  return (frame) => {
    writeSync(file, `${clean(frame)}\n`);
  };
}
