/** Reads the model that gives marks to predictions. */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { isEndpoint } from '../../config/load/model.ts';
import { loadScorer } from '../../config/load.ts';
import { problemsError } from '../../config/source/problem.ts';
import type { Submission, SubmittedModel } from '../../config/submission.ts';
import { buildScorer } from '../../config/submit.ts';
import type { ForkPlace } from '../commands/forkSubmission.ts';
import { filesAt, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';

interface Judge {
  readonly model: SubmittedModel;
  readonly env: Submission['env'];
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Returns the model of a file whose scorer is a judge, or of `NAME@ENDPOINT`. Throws StudioError `usage`, and `config`
 * with the places of problems.
 */
export async function readJudge(written: string, place: ForkPlace): Promise<Judge> {
  const at = written.indexOf('@');
  const [name, endpoint] = [written.slice(0, at), written.slice(at + 1)];
  if (at > 0 && isEndpoint(endpoint)) return { model: plainModel(name, endpoint), env: NO_ENV, secrets: {} };
  const { cwd, env, within } = place;
  const absolute = path.resolve(cwd, written);
  const root = workspaceRoot(absolute, cwd);
  const files = filesAt(place);
  const { value, problems } = await loadScorer(files, absolute);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const built = await buildScorer(value, root, submitPorts(files, root, env, within));
  if (built.scorer.kind === 'judge') return { model: built.scorer.model, env: built.env, secrets: built.secrets };
  throw new StudioError('usage', `The scorer of ${written} is not a judge.`, {
    hint: 'Name a file with `scorer: { kind: judge, … }`, or a model: NAME@ENDPOINT.',
  });
}

const NO_ENV: Submission['env'] = { names: [], shown: [] };

function plainModel(name: string, endpoint: string): SubmittedModel {
  return {
    endpoints: [endpoint],
    name,
    headers: {},
    sampling: { temperature: 0 },
    capture: DEFAULTS.capture,
    endpoint_wait_seconds: DEFAULTS.endpoint_wait,
  };
}
