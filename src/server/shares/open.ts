/** Assembles how a server divides what it has. */
import type { Log } from '../../common/log.ts';
import type { SharesFile } from '../../config/schema/sharesFile.ts';
import type { Executor, PodShares } from '../../executor/executor.ts';
import type { SharesReply } from '../../protocol/shares.ts';
import type { Store } from '../../store/store.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Caller } from '../access/caller.ts';
import type { Submissions } from '../batches/submissions.ts';
import type { Supervisor } from '../batches/supervisor.ts';
import type { Hub } from '../workers/hub.ts';
import type { Leasing } from '../workers/leasing.ts';
import { ModelGpus, type ModelServer } from './modelGpus.ts';
import { podShares } from './podShares.ts';
import { sharesReply } from './reply.ts';
import { WaitReports } from './reports.ts';
import { ShareSettings } from './settings.ts';
import { Shares } from './shares.ts';
import { TokenUsage } from './tokenUsage.ts';
import type { WaitingSources } from './waiting.ts';

interface ShareParts {
  readonly store: Store;
  readonly log: Log;
  readonly hub: () => Hub;
  readonly leasing: () => Leasing;
  readonly supervisor: () => Supervisor;
  readonly executor: () => Executor | undefined;
  readonly submissions: Submissions;
  readonly modelServers: readonly ModelServer[];
  /** Returns the ready replicas of an endpoint. */
  readonly replicas: (endpoint: string) => number | undefined;
}

export interface OpenedShares {
  readonly shares: Shares;
  readonly pods: PodShares;
  /** Handles a stored event of a rollout. */
  followed(batch: string, rollout: string, event: TraceEvent): void;
  reply(caller: Caller): Promise<SharesReply>;
  /** Reads what was used before. */
  start(): Promise<void>;
  close(): void;
  /** Writes what was used. Before the store is closed. */
  flush(): Promise<void>;
}

export function openShares(file: SharesFile, parts: ShareParts): OpenedShares {
  const { store, log, hub, leasing, supervisor, executor } = parts;
  const usage = new TokenUsage({ store, log, changed: () => shares.tokensChanged() });
  const shares: Shares = new Shares({
    settings: new ShareSettings(file),
    usage,
    callers: () => hub().callers(),
    requested: (batch) => leasing().requested(batch),
    freed: () => leasing().lookAtAll(),
    changed: () => hub().permitsChanged(),
  });
  const sources: WaitingSources = {
    shares,
    podsWait: (batch) => executor()?.podsWait?.(batch),
    endpointWait: (batch) => supervisor().endpointWait(batch),
    wantsMore: (batch) => leasing().requested(batch) > 0,
  };
  let reports: WaitReports | undefined;
  const pods = podShares({ shares, store, submissions: parts.submissions });
  const { modelServers, replicas } = parts;
  const gpus = modelServers.map(
    (server) => new ModelGpus({ server, replicas, record: (runs) => pods.record(runs), log }),
  );
  return {
    shares,
    pods,
    followed: (batch, rollout, event) => {
      shares.followed(batch, event);
      for (const each of gpus) each.followed(batch, rollout, event);
    },
    reply: (caller) => sharesReply({ ...sources, store, hasPods: executor()?.podsWait !== undefined }, caller),
    start: async () => {
      await usage.start();
      reports = new WaitReports({ sources, store, log });
    },
    close: () => reports?.close(),
    flush: async () => {
      await Promise.all(gpus.map((each) => each.close()));
      await usage.close();
    },
  };
}
