#!/usr/bin/env node
/** Starts the `rollout` command, once it is clear that this Node can load it. */
import { nodeProblem } from '../common/nodeVersion.ts';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) await import('./main.ts');
else {
  process.stderr.write(`rollout: ${problem}\n`);
  process.exitCode = 2;
}
