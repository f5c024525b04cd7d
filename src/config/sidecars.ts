/** Checks the sidecars of a submission, which may come from any client, like those of a file. */
import { z } from 'zod';
import { StudioError } from '../common/errors.ts';
import { sidecar } from './schema/sidecar.ts';
import { formatProblem } from './source/problem.ts';
import { validate } from './source/validate.ts';
import type { Submission } from './submission.ts';

const checked = z.object({ pods: z.object({ sidecars: z.array(sidecar) }) });
/** Position in `pods.sidecars[INDEX]`. */
const INDEX = 2;

/** Throws `config` with a line for each field that a sidecar must not have. */
export function requireHarmlessSidecars({ file, pods }: Pick<Submission, 'file' | 'pods'>): void {
  if (pods?.sidecars === undefined) return;
  const positions = pods.sidecar_positions ?? [];
  const { problems } = validate(
    {
      value: { pods: { sidecars: pods.sidecars } },
      problems: [],
      problem: (path, what) => {
        const at = positions[Number(path[INDEX])] ?? { file, line: 1, column: 1 };
        return { ...at, endLine: at.line, endColumn: at.column, severity: 'error', ...what };
      },
    },
    checked,
  );
  if (problems.length > 0)
    throw new StudioError('config', problems.map((problem) => formatProblem(problem)).join('\n'));
}
