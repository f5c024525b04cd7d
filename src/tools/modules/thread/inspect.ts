/** In the thread: one call under a JavaScript debugger, stopped where its function begins. */
import type { Session } from 'node:inspector';

/** Only while the breakpoint is set. */
const TARGET = Symbol.for('rollout-studio.inspected');

export interface InspectorTold {
  /** The thread stands until a debugger comes. */
  opened(url: string): void;
  attached(): void;
}

/**
 * Runs `call`, which calls `target.run` first, once a debugger has come; when the call has ended, the debugger is sent
 * away. Whoever does not want to wait for one any more tells the thread so (`letGo` of the host's side).
 */
export async function inspected<T>(
  target: { readonly run: unknown },
  call: () => T | Promise<T>,
  told: InspectorTold,
): Promise<T> {
  // Few threads are ever debugged: the others start without it.
  const inspector = process.getBuiltinModule('node:inspector');
  inspector.open(0, '127.0.0.1');
  const session = new inspector.Session();
  session.connect();
  try {
    whenItWaits(session, () => {
      told.opened(inspector.url() ?? '');
    });
    inspector.waitForDebugger();
    told.attached();
    breakAt(target.run, session);
    return await call();
  } finally {
    inspector.close(); // before any more of the user's code runs: who steps out of the call is done
    session.disconnect();
  }
}

/** A debugger that lets a thread go on which does not wait yet is not heard: the thread would wait all the same. */
function whenItWaits(session: Session, waits: () => void): void {
  session.once('NodeRuntime.waitingForDebugger', waits);
  session.post('NodeRuntime.enable', (error) => {
    if (error !== null) waits(); // a Node that has no such event
  });
}

/** Every debugger that is there pauses where the function is called next. Nothing pauses while there is none. */
function breakAt(target: unknown, session: Session): void {
  // A step skips only what all debuggers skip, so this one leaves with the first stop.
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
