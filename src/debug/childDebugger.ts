/**
 * Steps from a trajectory into the code of a tool's call, with a JavaScript debugger as a child session started by the
 * editor.
 */
import type { WebSocket as Socket } from 'ws';
import { errorText } from '../common/errors.ts';
import type { WaitingCall } from './sessionPorts.ts';

/** A configuration of VS Code's JavaScript debugger for `startDebugging`. */
export interface ChildConfiguration {
  readonly type: string;
  readonly request: 'attach';
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Starts child sessions in an editor. */
export interface ChildDebugger {
  /** Whether the editor supports it. */
  readonly available: boolean;
  /** Returns false if the session did not start. */
  start(configuration: ChildConfiguration): Promise<boolean>;
}

/** Code that is not the user's: Node.js, the thread's own program, and libraries inside a bundle. */
const SKIPPED = ['<node_internals>/**', '**/toolThread.mjs', '**/tools/modules/**', '**/~library'];

/** Starts a debugger for a waiting call. If that fails, lets the call continue and returns a message. */
export async function debugCall(children: ChildDebugger, { tool, url }: WaitingCall): Promise<string | undefined> {
  const problem = await children
    .start(attachToCall(tool, url))
    .then((started) => (started ? undefined : 'The editor refused to start it.'), errorText);
  if (problem === undefined) return undefined;
  await letGo(url);
  return `The JavaScript debugger did not start, so the call of ${tool} continues without it. ${problem}`;
}

/** Returns the configuration to attach to a call that waits at `url`. */
function attachToCall(tool: string, url: string): ChildConfiguration {
  return {
    type: 'pwa-node',
    request: 'attach',
    name: tool,
    websocketAddress: url,
    port: Number(new URL(url).port),
    continueOnAttach: true,
    // Only the thread is of interest: its process is the worker.
    attachExistingChildren: false,
    autoAttachChildProcesses: false,
    restart: false,
    sourceMaps: true,
    resolveSourceMapLocations: null,
    outFiles: [],
    skipFiles: SKIPPED,
  };
}

/** Lets a call that waits for a debugger continue. */
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
