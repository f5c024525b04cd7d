/** The types of request handlers. Modules provide them by topic. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { Inspection } from '../inspection.ts';
import type { DebugSession } from '../session.ts';
import type { SourceReferences } from '../sources/sourceReferences.ts';

/** What handlers need of their adapter. */
export interface RequestContext {
  readonly sources: SourceReferences;
  /** Throws `usage` before a launch or attach request. */
  readonly session: () => DebugSession;
  /** Throws `usage` before a launch or attach request. */
  readonly inspection: () => Inspection;
  readonly send: (event: DebugProtocol.Event) => void;
}

/** Handles a request. Returns the body of its response. */
export type Handler = (args: unknown, signal: AbortSignal) => unknown;

/** Handlers by command. */
export type Handlers = Readonly<Record<string, Handler>>;

/** Types a handler. The protocol defines which arguments a command has. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- names the request whose arguments it takes
export function handler<Q extends DebugProtocol.Request, R extends DebugProtocol.Response>(
  run: (args: Q['arguments'], signal: AbortSignal) => R['body'] | Promise<R['body']>,
): Handler {
  return (args, signal) => run(args, signal);
}
