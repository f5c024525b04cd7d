/** The cost of a conditional breakpoint that never matches: the same batch armed and unarmed. */
import { pairedRuns } from './support/pairedRuns.ts';
import { median } from './support/table.ts';
import { TOOL } from './support/work.ts';

const BOUND = 1.02;
/** Evaluated before every call of the tool; uses its arguments, and is never true. */
const NEVER = `tool.name == "${TOOL}" && tool.arguments.key == "no such key" && attempt > 0`;

const { cpu, wall } = await pairedRuns(
  [
    { name: 'unarmed', options: [] },
    { name: 'armed', options: ['--hold-where', NEVER] },
  ],
  `${BOUND} of the throughput`,
);
if (median(cpu) > BOUND && median(wall) > BOUND) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}
