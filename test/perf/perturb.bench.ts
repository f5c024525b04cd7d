/** The cost of rules that never match: the same batch with and without them (`--no-perturb`). */
import { pairedRuns } from './support/pairedRuns.ts';
import { median } from './support/table.ts';
import { TOOL } from './support/work.ts';

const BOUND = 1.02;
/** Each is evaluated before every call of the tool; one is never true, one is true with probability 0. */
const RULES = [
  `  - { name: never, when: 'tool.name == "${TOOL}" && tool.arguments.key == "no such key"', effect: error }`,
  `  - { name: seldom, when: 'tool.name == "${TOOL}" && attempt > 0', p: 0, effect: stale }`,
].join('\n');

const { cpu } = await pairedRuns(
  [
    { name: 'without', options: ['--no-perturb'] },
    { name: 'with', options: [] },
  ],
  `${BOUND} of the CPU per step`,
  { rules: RULES },
);
if (median(cpu) > BOUND) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}
