/** Compares two ways to run the same batch. */
import { startMock } from './processes.ts';
import { ProductBench } from './product.ts';
import { rounds, spread, table } from './table.ts';
import { TURNS } from './work.ts';

const SHAPE = { tasks: 32, attempts: 16, lanes: 64 };
const STEPS = SHAPE.tasks * SHAPE.attempts * TURNS;
const ROUNDS = rounds(5);

interface Way {
  readonly name: string;
  /** Further options of `rollout run`. */
  readonly options: readonly string[];
}

/** Ratios of the second way to the first, one for each round: common effects of a round cancel out. */
interface Ratios {
  /** CPU of server and workers. */
  readonly cpu: readonly number[];
  readonly wall: readonly number[];
}

/**
 * Runs a batch both ways, alternating, on one server, and prints the time per step. Wall time is noisy on a machine
 * that does other work, so the CPU of server and workers is next to it. `bound`: the largest ratio, and of what.
 */
export async function pairedRuns(
  ways: readonly [Way, Way],
  bound: string,
  more: { readonly rules?: string } = {},
): Promise<Ratios> {
  const cpu: [number[], number[]] = [[], []];
  const wall: [number[], number[]] = [[], []];
  const mock = await startMock(0, 1, 1);
  const bench = new ProductBench();
  try {
    await bench.run({ ...SHAPE, ...more, attempts: 2, url: mock.url }); // compiled and cached once
    for (let round = 0; round < ROUNDS; round++) {
      // The order alternates, so that slow growth affects both.
      for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const run = await bench.run({ ...SHAPE, ...more, url: mock.url }, { more: ways[at].options });
        if (run.report.passed !== SHAPE.tasks * SHAPE.attempts)
          throw new Error(`only ${run.report.passed} attempts passed`);
        cpu[at].push((run.cpuSeconds / STEPS) * 1000);
        wall[at].push(run.wallMs / STEPS);
      }
    }
  } finally {
    await bench.close();
    await mock.stop();
  }
  const ratios = { cpu: ratiosOf(cpu), wall: ratiosOf(wall) };
  const [first, second] = ways;
  console.log(
    table(
      [
        ['batch', `CPU ms per step (${ROUNDS} runs: min / median / max)`, 'ms per step by the clock'],
        [first.name, spread(cpu[0], 3), spread(wall[0], 3)],
        [second.name, spread(cpu[1], 3), spread(wall[1], 3)],
        [`${second.name} / ${first.name}, round by round`, spread(ratios.cpu, 3), spread(ratios.wall, 3)],
      ],
      [1, 2],
    ),
  );
  console.log(
    `${SHAPE.tasks} tasks x ${SHAPE.attempts} attempts x ${TURNS} calls, ${SHAPE.lanes} at once, latency 0: ` +
      `nothing but overhead, so the share is at its largest. Bound: ≤ ${bound}.`,
  );
  return ratios;
}

function ratiosOf([first, second]: readonly [readonly number[], readonly number[]]): number[] {
  return second.map((value, round) => value / (first[round] ?? Number.NaN));
}
