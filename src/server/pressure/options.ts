import type { ServerInfo } from '../../protocol/client.ts';
import type { ReplicaSource } from '../../protocol/replicas.ts';
import type { EventData, WaitReason } from '../../trace/schema.ts';
import type { Claim } from '../shares/divide.ts';
import type { PermitClaim } from './shares.ts';

/** A worker's session, as far as permits are concerned. */
export interface Caller {
  readonly session: string;
  readonly batch: string;
  /** Rollouts that could make calls now; excludes held ones. */
  readonly running: number;
  /** Calls that it could make at once, as far as it is known: not more than `running`. */
  readonly demand: number;
}

/** What a session may call, by endpoint. */
export interface SessionPermits {
  readonly permits: Readonly<Record<string, number>>;
  /** Why it has none, for an endpoint that others may call. */
  readonly waits: Readonly<Record<string, WaitReason>>;
}

/** Whose share a batch uses, and how. */
export type BatchShare = Omit<PermitClaim, 'demand'>;

export interface EndpointReport {
  readonly what: 'ok' | 'busy' | 'down';
  readonly retry_after_ms?: number | undefined;
  readonly text?: string | undefined;
  /** Number of calls this reports; 1 by default. */
  readonly count?: number | undefined;
}

/** What the record of a batch says about one of its endpoints. */
export type EndpointTrouble = Pick<EventData['infra'], 'what' | 'all_replicas' | 'ms' | 'text'> & {
  readonly endpoint: string;
};

export interface BackPressureOptions {
  readonly callers: () => readonly Caller[];
  /** Returns whose share a batch uses. By default, all batches use the same. */
  readonly shareOf?: (batch: string) => BatchShare;
  /** Returns batches that run or want to run, with the rollouts that they could have at once. */
  readonly claims?: () => ReadonlyMap<string, Claim>;
  /** Called when shares may have changed a lot and should be sent now. */
  readonly changed: () => void;
  /** Source of the replicas behind endpoints; without it, each endpoint is one server. */
  readonly replicas?: ReplicaSource | undefined;
  /**
   * Called once for each batch that uses an endpoint when the endpoint does not respond for a while, when it responds
   * again, and when one of its replicas appears, drains, or disappears.
   */
  readonly trouble?: (batch: string, trouble: EndpointTrouble) => void;
  /** Returns an endpoint for display, without secrets. Called while a batch uses the endpoint. */
  readonly label?: (endpoint: string) => string;
  /** Returns the URL and headers for the metrics of a `demo:` endpoint of the server's own demo model. */
  readonly demo: (
    endpoint: string,
  ) => { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** Returns what was announced about an endpoint, or about one of its replicas. */
  readonly announced?: (
    endpoint: string,
    replica?: string,
  ) => Pick<ServerInfo['endpoints'][number], 'pause' | 'weights'>;
  readonly now?: () => number;
}
