/** The services available to routes. */

import type { Log } from '../common/log.ts';
import type { Executor } from '../executor/executor.ts';
import type { ServerInfo } from '../protocol/client.ts';
import type { SharesReply } from '../protocol/shares.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from './access/caller.ts';
import type { Tokens } from './access/tokens.ts';
import type { Retention } from './batches/retention.ts';
import type { Secrets } from './batches/secrets.ts';
import type { Submissions } from './batches/submissions.ts';
import type { Supervisor } from './batches/supervisor.ts';
import type { Changes } from './changes.ts';
import type { EndpointControl } from './endpoints/control.ts';
import type { Leasing } from './workers/leasing.ts';

export interface Services {
  /** Who asks: the server itself, unless a route says otherwise (see `servicesFor`). */
  readonly caller: Caller;
  /** Returns which of these blobs are stored, and may be used by the caller. */
  readonly usable: (shas: readonly string[]) => Promise<Set<string>>;
  readonly store: Store;
  readonly changes: Changes;
  readonly submissions: Submissions;
  readonly secrets: Secrets;
  readonly supervisor: Supervisor;
  readonly leasing: Leasing;
  readonly endpoints: EndpointControl;
  readonly tokens: Tokens;
  readonly log: Log;
  /** See `Executor.check`; returns nothing if workers connect on their own. */
  readonly checkNeeds: Executor['check'];
  /** Whether the server has an executor, instead of workers that connect on their own. */
  readonly startsWorkers: boolean;
  /** See `Executor.pods` and `Executor.podLog`; undefined if workers connect on their own. */
  readonly workerPods: () => Pick<Executor, 'pods' | 'podLog' | 'secrets'> | undefined;
  /** See `Executor.lackingValues`. */
  readonly lackingValues: (batch: string) => readonly string[];
  readonly info: () => Promise<ServerInfo>;
  /** Returns how the server divides what it has, as a caller may see it. */
  readonly shares: (caller: Caller) => Promise<SharesReply>;
  /** Throws if a new batch names a queue that does not exist, or that its user may not use. */
  readonly requireQueue: (queue: string | undefined, user: string | undefined) => void;
  /** What the server removes by itself. undefined: nothing. */
  readonly retention: Retention | undefined;
  /** Whether the server is shutting down, so that clients and workers should use another one. */
  readonly draining: () => boolean;
  /** Handles a request of a trainer, which is silent while it learns: the server does not end for an hour. */
  readonly trained: () => void;
}
