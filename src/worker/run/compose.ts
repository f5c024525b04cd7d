/** Composes what one rollout runs with: its job from the grant, and the implementations of its ports. */

import { createHash } from 'node:crypto';
import { isReplay } from '../../config/submission/replay.ts';
import { DEFAULT_SANDBOX, replaysOf, type SubmittedModel } from '../../config/submission.ts';
import { createModelClient } from '../../model/client.ts';
import { replayModel } from '../../model/replay.ts';
import type { Grant } from '../../protocol/worker.ts';
import type { RolloutJob, RolloutPorts } from '../../rollout/job.ts';
import type { ModelClient, Recorder, Slot } from '../../rollout/ports.ts';
import { createScorer } from '../../scoring/create.ts';
import { untrustedWork } from '../../tools/builtins/readerThread/untrustedWork.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { openTools } from '../../tools/hosts.ts';
import { askerOf } from '../../tools/modules/asker.ts';
import { runExport } from '../../tools/modules/exports.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { datasetId } from '../../trace/task.ts';
import { openWorld } from '../../worlds/open.ts';
import { parseRecording } from '../../worlds/recorded/replay.ts';
import type { WorkerParts } from './parts.ts';
import { predictorsOf } from './predictors.ts';
import { sharedEvents } from './startData.ts';
import type { LoadedSubmission } from './submissions.ts';
import { variantFor } from './variant.ts';

interface Composition {
  readonly parts: WorkerParts;
  readonly grant: Grant;
  readonly loaded: LoadedSubmission;
  /** Events 1..last, lineage included. */
  readonly prefix: readonly TraceEvent[];
  /** The working directory. */
  readonly directory: string;
  readonly recorder: Recorder;
  readonly slot: Slot;
}

export function compose(composition: Composition): { job: RolloutJob; ports: RolloutPorts } {
  const { submission, part } = variantFor(composition.loaded.submission, composition.grant);
  const own = { ...composition, loaded: { ...composition.loaded, submission } };
  return { job: { ...jobOf(own), ...(part === undefined ? {} : { part }) }, ports: portsOf(own) };
}

function jobOf({ parts, grant, loaded, prefix }: Composition): RolloutJob {
  return {
    rollout: grant.rollout,
    batch: grant.batch,
    task: grant.task,
    attempt: grant.attempt,
    try: grant.try,
    epoch: grant.epoch,
    worker: parts.worker,
    how: grant.last > sharedEvents(grant) ? 'resumed' : 'fresh',
    submission: loaded.submission,
    shas: loaded.shas,
    ...(grant.fork === undefined ? {} : { fork: grant.fork }),
    ...(grant.rescores === undefined ? {} : { rescores: grant.rescores }),
    edits: grant.edits ?? [],
    prefix,
    last: grant.last,
    held: grant.held,
    breakpoints: grant.breakpoints,
    paused: grant.paused,
  };
}

function portsOf({ parts, grant, loaded, directory, recorder, slot }: Composition): RolloutPorts {
  const { submission } = loaded;
  const { gate, replicas, announcements, claims, scorings, pools } = parts;
  const { sandbox = DEFAULT_SANDBOX } = submission;
  const environment: ToolEnvironment = {
    cwd: directory,
    pools,
    sandbox: { ...sandbox, hide: [...sandbox.hide, ...parts.hidden] },
    readBlob: (sha, signal) => parts.blobs.read(sha, signal ?? NEVER),
  };
  const replayed = replaysOf(submission)[datasetId(grant.task)];
  const replay =
    replayed === undefined
      ? undefined
      : replayModel(async () => parseRecording(await environment.readBlob(replayed.recording)));
  const client = (model: SubmittedModel): ModelClient => {
    if (replay !== undefined && model.endpoints.every(isReplay)) return replay;
    return createModelClient(model, {
      connections: parts.connections,
      gate,
      replicas,
      weightsOf: (endpoint) => announcements.versionOf(endpoint),
      pausedBy: (endpoint) => announcements.pausedBy(endpoint),
      report: parts.report,
      affinity: grant.task.id,
      demoUrl: parts.demoUrl,
      demoKey: parts.demoKey,
      now: () => parts.clock.now(),
    });
  };
  const scorer = createScorer(submission.scorer, {
    untrusted: untrustedWork,
    runExport: (module, name, input, { signal, ask, models }) =>
      runExport(module, name, [input], environment, signal, askerOf(models, submission.file, ask)),
  });
  const usesWorld = grant.rescores === undefined || scorer.needsWorld === true;
  return {
    model: client(submission.agent.model),
    modelOf: client,
    ...(submission.world?.user === undefined ? {} : { user: client(submission.world.user.model) }),
    openTools: (_signal, agent) => openTools(agent.tools, environment),
    ...(submission.world === undefined || !usesWorld
      ? {}
      : { world: openWorld(submission.world, environment, scorer.needsWorld === true) }),
    ...(grant.rescores === undefined ? predictorsOf(submission.world, environment) : {}),
    callRule: (rule, input, signal) =>
      runExport(rule.module, rule.export, [input], environment, signal, { pools: pools.modules }),
    scorer: { ...scorer, version: loaded.scorerVersion },
    partForScoring: async (signal) => {
      await recorder.flushed();
      return scorings.ask(grant.rollout, grant.epoch, signal);
    },
    untrusted: untrustedWork,
    recorder,
    slot,
    clock: parts.clock,
    claim: (breakpoint) => claims.ask(grant.rollout, grant.epoch, breakpoint),
    holdPermits: parts.holdPermits,
    weightsOf: (endpoint) => announcements.versionOf(endpoint),
    chooseEndpoint: (endpoints, current) => {
      const order = replicas.order(endpoints, grant.task.id)();
      return (
        order.find((endpoint) => !gate.troubled(endpoint) && !gate.paused(endpoint)) ??
        (order.includes(current) ? current : (order[0] ?? current))
      );
    },
    // Recorded events are redacted, so what a resumed rollout compares with them must be redacted, too.
    redactor: parts.outlet.redactor,
    sha256: (data) => createHash('sha256').update(data).digest('hex'),
  };
}

const NEVER = new AbortController().signal;
