/**
 * The cost of a conditional breakpoint that never matches: the same batch armed and unarmed, alternating, on one
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
/** Evaluated before every call of the tool; uses its arguments, and is never true. */
const NEVER = `tool.name == "${TOOL}" && tool.arguments.key == "no such key" && attempt > 0`;

const runs = {
  unarmed: { cpu: [] as number[], wall: [] as number[] },
  armed: { cpu: [] as number[], wall: [] as number[] },
};
const mock = await startMock(0, 1, 1);
const bench = new ProductBench();
try {
  await bench.run({ ...SHAPE, attempts: 2, url: mock.url }); // compiled and cached once
  for (let round = 0; round < ROUNDS; round++) {
    // The order alternates, so that slow growth affects both.
    for (const how of round % 2 === 0 ? (['unarmed', 'armed'] as const) : (['armed', 'unarmed'] as const)) {
      const run = await bench.run(
        { ...SHAPE, url: mock.url },
        { more: how === 'armed' ? ['--hold-where', NEVER] : [] },
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

/** Ratio of armed to unarmed in each round: common effects of a round cancel out. */
const ratios = (of: 'cpu' | 'wall'): number[] =>
  runs.armed[of].map((value, round) => value / (runs.unarmed[of][round] ?? Number.NaN));
console.log(
  table(
    [
      ['batch', `CPU ms per step (${ROUNDS} runs: min / median / max)`, 'ms per step by the clock'],
      ['unarmed', spread(runs.unarmed.cpu, 3), spread(runs.unarmed.wall, 3)],
      ['armed', spread(runs.armed.cpu, 3), spread(runs.armed.wall, 3)],
      ['armed / unarmed, round by round', spread(ratios('cpu'), 3), spread(ratios('wall'), 3)],
    ],
    [1, 2],
  ),
);
console.log(
  `${SHAPE.tasks} tasks x ${SHAPE.attempts} attempts x ${TURNS} calls, ${SHAPE.lanes} at once, latency 0: ` +
    `nothing but overhead, so the share is at its largest. Bound: ≤ ${BOUND} of the throughput.`,
);
if (median(ratios('cpu')) > BOUND && median(ratios('wall')) > BOUND) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}
