/** A process that leads its own group: a child of this process, or a program that a tool server runs. */
import type { Readable, Writable } from 'node:stream';
import { killTree } from './processTree.ts';

type Ended = (code: number | null, signal: NodeJS.Signals | null) => void;

/** What users of processes need of Node's `ChildProcess`. */
export interface GroupProcess {
  /** undefined if it could not be started, or runs in another container. */
  readonly pid?: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly connected: boolean;
  /** Whether a process without an ID here could not be started. */
  readonly hasFailed?: boolean;
  /** Kills the group of a process without an ID here. */
  readonly killGroup?: () => void;
  send(message: object, callback: (error: Error | null) => void): boolean;
  on(event: 'exit' | 'close', listener: Ended): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  once(event: 'spawn', listener: () => void): unknown;
  once(event: 'error', listener: (error: Error) => void): unknown;
}

/** Whether a process was started here, or is starting elsewhere: then `exit` follows. */
export function isStarted({ pid, hasFailed }: GroupProcess): boolean {
  return pid !== undefined || hasFailed === false;
}

/** Kills a process with its group. */
export function killGroup(child: GroupProcess): void {
  if (child.killGroup !== undefined) child.killGroup();
  else if (child.pid !== undefined) killTree(child.pid);
}
