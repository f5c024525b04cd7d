/**
 * The cost of rules that never match: the same batch with and without them (`--no-perturb`), alternating, on one
 * server. Wall time is noisy on a machine that does other work, so CPU per step of server and workers is reported next
 * to it.
 */
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, spread, table } from './support/table.ts';
import { TOOL, TURNS } from './support/work.ts';

const SHAPE = { tasks: 32, attempts: 16, lanes: 64 };
const STEPS = SHAPE.tasks * SHAPE.attempts * TURNS;
const ROUNDS = rounds(5);
const BOUND = 1.02;
/** Each is evaluated before every call of the tool; one is never true, one is true with probability 0. */
const RULES = [
  `  - { name: never, when: 'tool.name == "${TOOL}" && tool.arguments.key == "no such key"', effect: error }`,
  `  - { name: seldom, when: 'tool.name == "${TOOL}" && attempt > 0', p: 0, effect: stale }`,
].join('\n');

const runs = {
  without: { cpu: [] as number[], wall: [] as number[] },
  with: { cpu: [] as number[], wall: [] as number[] },
};
const mock = await startMock(0, 1, 1);
const bench = new ProductBench();
try {
  await bench.run({ ...SHAPE, attempts: 2, url: mock.url, rules: RULES }); // compiled and cached once
  for (let round = 0; round < ROUNDS; round++) {
    // The order alternates, so that slow growth affects both.
    for (const how of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      const run = await bench.run(
        { ...SHAPE, url: mock.url, rules: RULES },
        { more: how === 'with' ? [] : ['--no-perturb'] },
      );
      if (run.report.passed !== SHAPE.tasks * SHAPE.attempts)
        throw new Error(`only ${run.report.passed} attempts passed`);
      runs[how].cpu.push((run.cpuSeconds / STEPS) * 1000);
      runs[how].wall.push(run.wallMs / STEPS);
    }
  }
} finally {
  await bench.close();
  await mock.stop();
}

/** Ratio of both in each round: common effects of a round cancel out. */
const ratios = (of: 'cpu' | 'wall'): number[] =>
  runs.with[of].map((value, round) => value / (runs.without[of][round] ?? Number.NaN));
console.log(
  table(
    [
      ['batch', `CPU ms per step (${ROUNDS} runs: min / median / max)`, 'ms per step by the clock'],
      ['without', spread(runs.without.cpu, 3), spread(runs.without.wall, 3)],
      ['with', spread(runs.with.cpu, 3), spread(runs.with.wall, 3)],
      ['with / without, round by round', spread(ratios('cpu'), 3), spread(ratios('wall'), 3)],
    ],
    [1, 2],
  ),
);
console.log(
  `${SHAPE.tasks} tasks x ${SHAPE.attempts} attempts x ${TURNS} calls, ${SHAPE.lanes} at once, latency 0: ` +
    `nothing but overhead, so the share is at its largest. Bound: ≤ ${BOUND} of the CPU per step.`,
);
if (median(ratios('cpu')) > BOUND) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}
