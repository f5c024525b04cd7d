/**
 * The cost of comparing attempts: 64 attempts of 200 steps, from their trajectories to the tree and to aligned rows.
 * The bound is 500 ms.
 */
import { comparedAttempt } from '../../src/trace/align/attempt.ts';
import { align } from '../../src/trace/align/columns.ts';
import { prefixTree } from '../../src/trace/align/prefixTree.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../src/trace/summary.ts';
import { Random } from '../support/random.ts';
import { Stream } from '../support/stream.ts';
import { median, rounds, spread, table } from './support/table.ts';

const ATTEMPTS = 64;
const STEPS = 200;
const BOUND_MS = 500;

/**
 * Attempts that are equal at first and diverge gradually, with detours; `alike`: the probability that an action follows
 * the plan.
 */
function attemptsOf(alike: number): TrajectoryModel[] {
  const random = new Random(7);
  return Array.from({ length: ATTEMPTS }, (_, number) => {
    const stream = new Stream();
    stream.start({ attempt: number + 1 });
    stream.message('user', 'Renew everything overdue.');
    for (let step = 0; step < STEPS; step++) {
      const planned = random.next() < alike;
      const name = `tool_${planned ? step % 12 : Math.floor(random.next() * 12)}`;
      const args = {
        loan_id: planned ? step : Math.floor(random.next() * 50),
        days: 14,
        note: 'as requested by the member at the desk',
      };
      stream.model('So on and so on.', [{ id: `c${step}`, name, arguments: args }]);
      stream.toolEnd(stream.toolStart(`c${step}`, name, args), `c${step}`, {
        ok: true,
        due: '2026-05-15',
        of: step,
        by: Math.floor(random.next() * 3),
      });
    }
    stream.end();
    const model = new TrajectoryModel();
    model.push(stream.events);
    return model;
  });
}

function row(index: number): RolloutRow {
  return {
    rollout: `r${index}`,
    batch: 'b',
    task: 't',
    task_index: 0,
    attempt: index + 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev: 1,
    progress: { ...EMPTY_PROGRESS, status: 'done', passed: index % 3 === 0, reward: 0 },
  };
}

function timed(run: () => void): number {
  const began = performance.now();
  run();
  return performance.now() - began;
}

/** The simple way to find where each pair diverges: both prefixes as JSON, step by step. */
function plain(models: readonly TrajectoryModel[]): number {
  const calls = models.map((model) => model.tools.map((span) => [span.start.data.name, span.start.data.arguments]));
  let splits = 0;
  for (const [index, a] of calls.entries()) {
    for (const b of calls.slice(index + 1)) {
      let at = 0;
      while (at < a.length && JSON.stringify(a[at]) === JSON.stringify(b[at])) at += 1;
      splits += at;
    }
  }
  return splits;
}

const rows = [['attempts', 'actions', 'tree', 'align', 'in all, ms', 'rows', 'plain JSON of all pairs', 'ratio']];
let worst = 0;
for (const [name, alike] of [
  ['nearly equal', 0.995],
  ['alike', 0.9],
  ['half alike', 0.5],
  ['nothing alike', 0],
] as const) {
  const models = attemptsOf(alike);
  const parts: number[][] = [[], [], [], [], []];
  let aligned = 0;
  for (let round = 0; round < rounds(7); round++) {
    let attempts = models.map((model, index) => comparedAttempt(row(index), model));
    const actions = timed(() => (attempts = models.map((model, index) => comparedAttempt(row(index), model))));
    const tree = timed(() => void prefixTree(attempts));
    const columns = timed(() => (aligned = align(attempts, 0).rows.length));
    const baseline = timed(() => void plain(models));
    [actions, tree, columns, actions + tree + columns, baseline].forEach((ms, index) => parts[index]?.push(ms));
  }
  const [actions = [], tree = [], columns = [], all = [], baseline = []] = parts;
  worst = Math.max(worst, median(all));
  rows.push([
    name,
    median(actions).toFixed(1),
    median(tree).toFixed(1),
    median(columns).toFixed(1),
    spread(all, 0),
    String(aligned),
    `${median(baseline).toFixed(1)} ms`,
    (median(all) / median(baseline)).toFixed(1),
  ]);
}
console.log(table(rows, [1, 2, 3, 4, 5, 6, 7]));
console.log(
  `${ATTEMPTS} attempts of ${STEPS} steps: at most ${worst.toFixed(0)} ms (median), the bound is ${BOUND_MS} ms`,
);
if (worst > BOUND_MS) process.exitCode = 1;
