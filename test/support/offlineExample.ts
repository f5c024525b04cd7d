/** A small batch in the form that a saved page holds. */

import type { BatchRow } from '../../src/protocol/client.ts';
import type { OfflineData } from '../../src/protocol/offline.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../src/trace/summary.ts';
import { logLines } from './trajectories.ts';

const TASKS = 3;
const ATTEMPTS = 2;

const batch: BatchRow = {
  batch: 'b1',
  name: 'first',
  created_at: 1,
  ended_at: 2,
  state: 'ended',
  submission: 'a'.repeat(64),
  tasks: TASKS,
  attempts: ATTEMPTS,
  counts: { passed: 6, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running: 0, held: 0, queued: 0 },
  truncated: 0,
  steps: 0,
  input_tokens: 0,
  output_tokens: 0,
  imported: false,
  rev: 40,
  last: 2,
};

function row(task: number, attempt: number, nth: number): RolloutRow {
  return {
    rollout: `r${task}${attempt}${nth}`,
    batch: 'b1',
    task: `t${task}`,
    task_index: task,
    attempt,
    try: nth,
    state: 'ended',
    epoch: 1,
    last: 3,
    settles: true,
    progress: { ...EMPTY_PROGRESS },
    rev: 10 + (TASKS - task) * 4 + attempt + nth,
  };
}

/** Tasks t0 … t2 with two attempts, the first with two tries: rollouts r<task><attempt><try>. */
export function offlineExample(): OfflineData {
  return {
    version: 1,
    saved_at: 5,
    place: { page: 'batch', batch: 'b1' },
    server: {
      product: 'test',
      protocol: 1,
      pid: 0,
      store: '',
      started_at: 0,
      queued: 0,
      running: 0,
      held: 0,
      workers: [],
      endpoints: [],
    },
    batches: [batch],
    tasks: {
      b1: Array.from({ length: TASKS }, (_, index) => ({ id: `t${index}`, question: 'What is next?', meta: {} })),
    },
    rollouts: {
      b1: Array.from({ length: TASKS }, (_, task) => [row(task, 1, 1), row(task, 1, 2), row(task, 2, 1)]).flat(),
    },
    lineages: { b1: [{ rollout: 'r0', to: 4 }] },
    streams: { b1: logLines(1, 2), r011: logLines(1, 2500) },
    blobs: { ['c'.repeat(64)]: Buffer.from('größer').toString('base64') },
  };
}
