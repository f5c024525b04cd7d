/**
 * From a trajectory into the code of a tool's call: a JavaScript debugger as a child session, started by the editor.
 */
import type { WebSocket as Socket } from 'ws';
import { errorText } from '../common/errors.ts';
import type { WaitingCall } from './sessionPorts.ts';

/** A configuration of VS Code's JavaScript debugger, in the words of `startDebugging`. */
export interface ChildConfiguration {
  readonly type: string;
  readonly request: 'attach';
  readonly name: string;
  readonly [member: string]: unknown;
}

/** How an editor starts a child session. */
export interface ChildDebugger {
  /** Whether it can. */
  readonly available: boolean;
  /** false: it did not. */
  start(configuration: ChildConfiguration): Promise<boolean>;
}

/** What is not the user's: Node, the thread's own program, and libraries inside a bundle. */
const SKIPPED = ['<node_internals>/**', '**/toolThread.mjs', '**/tools/modules/**', '**/~library'];

/** Starts a debugger for a call that waits for one; else the call goes on without. Gives what is to be said then. */
export async function debugCall(children: ChildDebugger, { tool, url }: WaitingCall): Promise<string | undefined> {
  const problem = await children
    .start(attachToCall(tool, url))
    .then((started) => (started ? undefined : 'The editor refused.'), errorText);
  if (problem === undefined) return undefined;
  await letGo(url);
  return `The JavaScript debugger did not start, so the call of ${tool} goes on without. ${problem}`;
}

/** Attaches to a call that waits at `url`. */
function attachToCall(tool: string, url: string): ChildConfiguration {
  return {
    type: 'pwa-node',
    request: 'attach',
    name: tool,
    websocketAddress: url,
    port: Number(new URL(url).port),
    continueOnAttach: true,
    // The thread is all there is to see: its process is the worker.
    attachExistingChildren: false,
    autoAttachChildProcesses: false,
    restart: false,
    sourceMaps: true,
    resolveSourceMapLocations: null,
    outFiles: [],
    skipFiles: SKIPPED,
  };
}

/** Lets a call go on that waits for a debugger. */
export async function letGo(url: string): Promise<void> {
  const { WebSocket } = await import('ws');
  const socket: Socket = new WebSocket(url);
  await new Promise<void>((resolve) => {
    socket.on('open', () => {
      socket.send(JSON.stringify({ id: 1, method: 'Runtime.runIfWaitingForDebugger' }));
    });
    socket.on('message', () => {
      socket.close();
    });
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', () => {
      resolve();
    });
  });
}
