/** Checks that the models that a batch expects on the target are installed there. */
import { StudioError } from '../../common/errors.ts';
import { listText } from '../../common/text.ts';
import { type InstalledModels, installedNames } from '../../config/submission/installed.ts';
import type { Submission } from '../../config/submission.ts';

/** Throws StudioError `usage` with the models that are installed. */
export function requireInstalled(submission: Submission, models: InstalledModels): void {
  const missing = installedNames(submission).find((name) => !Object.hasOwn(models, name));
  if (missing === undefined) return;
  const names = Object.keys(models);
  throw new StudioError('usage', `The model ${missing} is not installed on this target.`, {
    hint:
      names.length === 0
        ? 'No model is installed here. Set model.endpoint to the URL of one, or install one with --vllm or --models.'
        : `Installed: ${listText(names)}. Set model.name to one of these, or model.endpoint to the URL of another ` +
          'one.',
  });
}
