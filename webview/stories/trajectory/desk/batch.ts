/** The batch of a rollout: events of its stream, and forks. */
import type { Json } from '../../../../src/common/json.ts';
import { duration } from '../../../../src/common/units.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import type { StoryData } from '../../../host/story.ts';
import { sampleBatch } from '../../batch/sampleBatch.ts';

/** Events that set breakpoints of each form, and one of another client. */
export function breakpointEvents(): TraceEvent[] {
  const groups: [string, Json][] = [
    [
      'page.',
      [
        { id: 'page.tool.renew_loan', side: 'before', tool: 'renew_loan', when: 'tool.arguments.days > 7' },
        { id: 'page.step.2', side: 'before', kind: 'model', when: 'step == 2' },
        { id: 'page.tool.find_member', side: 'before', tool: 'find_member', log: 'looking for {tool.arguments.name}' },
      ],
    ],
    [
      'dap-1.',
      [{ id: 'dap-1.4', side: 'after', kind: 'tool', when: 'tool.error != null && tool.error.class == "timeout"' }],
    ],
  ];
  return groups.map(([of, breakpoints], index) => ({
    seq: index + 1,
    v: 1,
    at: 1_795_000_000_000,
    kind: 'control',
    data: { command: `c${index}`, verb: 'breakpoints', by: 'page', args: { breakpoints, of } },
  }));
}

/** Batches forked at these events: one is running, the others have ended. */
export function forkBatches(rollout: string, cuts: readonly number[]): Pick<StoryData, 'batch' | 'rows' | 'tasks'>[] {
  return cuts.map((seq, index) => {
    const sample = sampleBatch({
      tasks: 1,
      attempts: index === 1 ? 16 : 4,
      state: index === 3 ? 'running' : 'ended',
      parent: { rollout, seq },
      name: `nightly@${seq}`,
    });
    return {
      ...sample,
      batch: { ...sample.batch, batch: `bf${index}`, created_at: sample.batch.created_at + 1 + index },
      rows: [],
    };
  });
}

const UPGRADE = { endpoint: 'http://models:8000/v1', all_replicas: true };

/** Events of the batch during a rollout: about its worker, the model server, a pause, notes. */
export function batchEvents(events: readonly TraceEvent[], rollout: string): TraceEvent[] {
  const begin = events[0]?.at ?? 0;
  const length = (events.at(-1)?.at ?? begin) - begin;
  const entries: [number, TraceEvent['kind'], unknown][] = [
    [0, 'batch.start', { name: 'nightly' }],
    [
      0.1,
      'infra',
      {
        ...UPGRADE,
        what: 'replica_draining',
        text: `Replica vllm-0 of ${UPGRADE.endpoint} is draining and gets no new calls. It now has 1 replica.`,
      },
    ],
    [
      0.22,
      'infra',
      {
        ...UPGRADE,
        what: 'replica_drained',
        text: `Replica vllm-0 of ${UPGRADE.endpoint} ended after draining for ${duration(length * 0.12)}.`,
        ms: length * 0.12,
      },
    ],
    [
      0.3,
      'infra',
      {
        what: 'preempted',
        worker: 'pod-07',
        ms: length * 0.07,
        text: 'The model server reclaimed memory and recomputed the request.',
      },
    ],
    [0.46, 'control', { command: 'c1', verb: 'pause', by: 'ada' }],
    [0.5, 'control', { command: 'c2', verb: 'resume', by: 'ada' }],
    [0.62, 'infra', { what: 'node_pressure', pod: 'pod-07', node: 'node-3', text: 'node-3 is low on memory' }],
    [0.8, 'infra', { what: 'worker_exit', worker: 'pod-99', text: 'of another rollout' }],
  ];
  const seqAt = (share: number): number =>
    events.findLast(
      (event) => event.at <= begin + share * length && (event.kind === 'tool.start' || event.kind === 'model.start'),
    )?.seq ?? 1;
  entries.push(
    [0.9, 'note', { rollout, seq: seqAt(0.35), label: 'bookmark', text: rollout, by: 'page' }],
    [
      0.91,
      'note',
      { rollout, seq: seqAt(0.55), label: 'note', text: "Why doesn't it check the limit first?", by: 'ada' },
    ],
  );
  return entries.map(
    ([share, kind, data], index) =>
      ({ seq: index + 1, v: 1, at: Math.round(begin + share * length), kind, data }) as TraceEvent,
  );
}
