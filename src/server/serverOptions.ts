/** What a server is started with. */
import type { Log } from '../common/log.ts';
import type { RetentionFile } from '../config/schema/retentionFile.ts';
import type { SharesFile } from '../config/schema/sharesFile.ts';
import type { InstalledModels } from '../config/submission/installed.ts';
import type { ClusterHost, Executor } from '../executor/executor.ts';
import type { ReplicaSource } from '../protocol/replicas.ts';
import type { Store } from '../store/store.ts';
import type { Reviewer } from './access/logins.ts';
import type { OriginRules } from './access/origins.ts';
import type { ProxyIdentity } from './access/proxyIdentity.ts';
import type { ClientTokens } from './access/tokens.ts';
import type { Mount, SecurePort } from './listener.ts';
import type { Programs } from './routes/programs.ts';
import type { ModelServer } from './shares/modelGpus.ts';
import type { Collector } from './telemetry/otlp/collector.ts';

export interface RolloutServerOptions {
  readonly store: Store;
  /** Folder for secrets. */
  readonly secretsFolder: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** A port for TLS besides that one. */
  readonly secure?: SecurePort | undefined;
  readonly origins: Omit<OriginRules, 'host'>;
  /** Asks the cluster for its users. undefined: only client tokens. */
  readonly reviewer?: Reviewer | undefined;
  /** A proxy in front of the server that says who its users are. */
  readonly proxy?: ProxyIdentity | undefined;
  /** Client tokens; new ones are created by default. */
  readonly tokens?: ClientTokens;
  /**
   * Origins at which workers reach this server, if not where it listens, or another server of the same store.
   */
  readonly advertise?: readonly string[];
  /** 0: the server never ends on its own. */
  readonly idleMs: number;
  readonly executor: ((host: ClusterHost) => Executor) | undefined;
  /** Whether the store is only read: nothing in it continues. */
  readonly readOnly?: boolean;
  /** How it divides what it has among users and queues; equally among users by default. */
  readonly shares?: SharesFile;
  /** What it removes by itself. */
  readonly retention?: RetentionFile | undefined;
  /** The models of the installation. */
  readonly models?: {
    readonly addresses: InstalledModels;
    /** Those whose GPU time is divided among batches. */
    readonly servers: readonly ModelServer[];
  };
  /** Source of the replicas behind endpoints. */
  readonly replicas?: ReplicaSource;
  readonly mounts: readonly Mount[];
  /** The programs that workers on other machines run. */
  readonly programs?: Programs;
  /** Folder of the pages for browsers. */
  readonly pages: string;
  /** Path of the demo model's metrics among the mounts. */
  readonly demoMetrics: string | undefined;
  readonly log: Log;
  /** Bytes of blobs that workers may store for each rollout; any number by default. */
  readonly rolloutBytes?: number;
  /** Who may read `/metrics`; `token` by default. */
  readonly metrics?: 'token' | 'open';
  /** The collector that receives finished rollouts as traces, and the service name to report. */
  readonly traces?: { readonly collector: Collector; readonly service: string };
  /** Called when the idle time is over. */
  readonly idle: () => void;
}
