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

/** Handles a request with the protocol's arguments for its command. Returns the body of the response. */
export type Handler = (args: never, signal: AbortSignal) => unknown;

/** Handlers by command. */
export type Handlers = Readonly<Record<string, Handler>>;
