/** Runs one call in a JavaScript debugger, paused at the start of its function (in the thread). */
import type { Session } from 'node:inspector';

/** Set only while the breakpoint is created. */
const TARGET = Symbol.for('rollout-studio.inspected');

interface InspectorEvents {
  /** The thread waits for a debugger. */
  opened(url: string): void;
  attached(): void;
}

/**
 * Waits for a debugger, then runs `call`, which calls `target.run` first; then disconnects the debugger. The host can
 * end the wait (see `Inspector`).
 */
export async function inspected<T>(
  target: { readonly run: unknown },
  call: () => T | Promise<T>,
  events: InspectorEvents,
): Promise<T> {
  // Loaded lazily, because few threads are debugged.
  const inspector = process.getBuiltinModule('node:inspector');
  inspector.open(0, '127.0.0.1');
  const session = new inspector.Session();
  session.connect();
  try {
    onWaiting(session, () => {
      events.opened(inspector.url() ?? '');
    });
    inspector.waitForDebugger();
    events.attached();
    breakAt(target.run, session);
    return await call();
  } finally {
    inspector.close(); // before any other user code runs: stepping out of the call ends debugging
    session.disconnect();
  }
}

/** Calls `waits` when the thread is waiting: a request to continue before that would be lost. */
function onWaiting(session: Session, listener: () => void): void {
  session.once('NodeRuntime.waitingForDebugger', listener);
  session.post('NodeRuntime.enable', (error) => {
    if (error !== null) listener(); // this Node.js version has no such event
  });
}

/** Pauses attached debuggers at the next call of the function. */
function breakAt(target: unknown, session: Session): void {
  // Stepping skips only what all debuggers skip, so this session disables its debugger at the first pause.
  session.on('Debugger.paused', () => {
    session.post('Debugger.disable');
  });
  session.post('Debugger.enable');
  Object.defineProperty(globalThis, TARGET, { value: target, configurable: true });
  session.post(
    'Runtime.evaluate',
    { expression: `globalThis[Symbol.for(${JSON.stringify(Symbol.keyFor(TARGET))})]` },
    (_error, found) => {
      // absent after an error
      const objectId = (found as { result?: { objectId?: string } } | undefined)?.result?.objectId;
      if (objectId !== undefined) session.post('Debugger.setBreakpointOnFunctionCall', { objectId });
    },
  );
  Reflect.deleteProperty(globalThis, TARGET);
}
