/** Starts the rollout server, once it is clear that this Node can load it. */
import { nodeProblem } from '../common/nodeVersion.ts';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) await import('./main.ts');
else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
