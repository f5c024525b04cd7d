/** Messages between a worker and the process that runs the threads of user modules for it. */
import { z } from 'zod';
import type { ThreadStart, ToThread } from '../protocol.ts';

/** What a thread starts with, besides its module. */
export interface ThreadLimits {
  readonly env: Readonly<Record<string, string>>;
  /** Memory limit for heap and buffers. */
  readonly memoryMb: number;
}

export type ToProcess =
  | { readonly type: 'start'; readonly thread: number; readonly start: ThreadStart; readonly limits: ThreadLimits }
  | { readonly type: 'post'; readonly thread: number; readonly message: ToThread }
  /** Terminates a thread. */
  | { readonly type: 'end'; readonly thread: number }
  /** Requests the utilization of a thread since the last request. */
  | { readonly type: 'measure'; readonly id: number; readonly thread: number }
  /** Ends all processes with the mark, and requests `done`. */
  | { readonly type: 'endProcesses'; readonly id: number; readonly owner: string }
  /** Connects to a port of the process's network, where a thread waits for a debugger. */
  | { readonly type: 'connect'; readonly connection: number; readonly port: number }
  | { readonly type: 'data'; readonly connection: number; readonly data: Uint8Array }
  | { readonly type: 'disconnect'; readonly connection: number };

const thread = z.number().int().min(0);
const connection = z.number().int().min(0);

/** The worker validates them, because user code runs in the same process. */
export const fromProcess = z.discriminatedUnion('type', [
  /** A message of a thread (`FromThread`); validated by the receiver. */
  z.object({ type: z.literal('message'), thread, message: z.unknown() }),
  z.object({ type: z.literal('unreadable'), thread }),
  z.object({ type: z.literal('outOfMemory'), thread }),
  z.object({ type: z.literal('failed'), thread, message: z.string(), stack: z.string().optional() }),
  z.object({ type: z.literal('exited'), thread, code: z.number() }),
  /** Answers a request. */
  z.object({ type: z.literal('done'), id: z.number().int().min(0), value: z.number() }),
  /** A process group that a module started, or its end. */
  z.object({ type: z.literal('group'), pid: z.number().int().min(2), alive: z.boolean() }),
  z.object({ type: z.literal('data'), connection, data: z.instanceof(Uint8Array) }),
  z.object({ type: z.literal('disconnect'), connection }),
]);
export type FromProcess = z.infer<typeof fromProcess>;
