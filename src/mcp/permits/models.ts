import { filesAt } from '../../client/submitFile.ts';
import { StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { configFilesUnder } from '../../config/checkFiles.ts';
import { loadAgent } from '../../config/load.ts';
import { agentsOf, type Submission } from '../../config/submission.ts';
import type { Session } from '../session.ts';

const MAX_LISTED = 20;

/** Throws StudioError `forbidden` unless the user's files name this model: a name is sent to the endpoint. */
export async function requireModel(
  { folder }: Session,
  model: string,
  { submission, original }: { readonly submission: Submission; readonly original: Submission | undefined },
): Promise<void> {
  const isLiteral = !model.includes('${');
  const names = new Set(
    [submission, ...(original === undefined ? [] : [original])].flatMap((one) =>
      agentsOf(one).map((agent) => agent.model.name),
    ),
  );
  if (isLiteral && names.has(model)) return;
  const files = filesAt({ cwd: folder, within: folder });
  for (const path of await configFilesUnder(files, folder)) {
    if (fileKind(path) !== 'agent') continue;
    const { value } = await loadAgent(files, path);
    if (value?.file.model !== undefined) names.add(value.file.model.name);
  }
  if (isLiteral && names.has(model)) return;
  throw new StudioError('forbidden', `No agent file of the workspace has the model ${model}.`, {
    hint:
      `Available: ${[...names].slice(0, MAX_LISTED).join(', ')}. A person can add it to an agent file, or use ` +
      'rollout fork --model.',
  });
}
