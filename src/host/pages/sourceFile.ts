/** Finds a trajectory's source file on this machine, from submitted paths or in the workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { candidatesOf, scenarioCodeOf } from '../../client/sourcePaths.ts';
import { StudioError } from '../../common/errors.ts';
import { modulesOf, type Submission, submission as submissionSchema } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { Place } from '../../trace/schema.ts';
import { exists } from '../files/workspaceFiles.ts';
import { scenarioUri } from '../worlds/scenarioDocuments.ts';

/** Finds the file of `place`. `api` is the rollout's server. Throws StudioError `not_found`. */
export async function findSource(place: Place, api: Api | undefined, rollout: string | undefined): Promise<vscode.Uri> {
  const submitted = api === undefined || rollout === undefined ? undefined : await submissionOf(api, rollout);
  const modules = submitted === undefined ? [] : modulesOf(submitted);
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .map(({ uri }) => uri)
    .filter((uri) => uri.scheme === 'file');
  const candidates = candidatesOf(
    place.file,
    modules,
    folders.map((folder) => folder.fsPath),
  );
  for (const file of candidates) {
    const uri = vscode.Uri.file(file);
    if (await exists(uri)) return uri;
    const code = scenarioCodeOf(file);
    if (code !== undefined && (await exists(vscode.Uri.file(code.published))))
      return scenarioUri({ from: code.from, key: code.key, part: 'code' });
  }
  // The workspace may be opened in a parent folder of the submitted one.
  const pattern = `**/${place.file.replaceAll(/[[\]{}?*!]/g, '?')}`;
  const matches = path.isAbsolute(place.file)
    ? []
    : await Promise.all(
        folders.map((folder) =>
          vscode.workspace.findFiles(new vscode.RelativePattern(folder, pattern), '**/node_modules/**', 20),
        ),
      );
  const nearest = matches.flat().sort((a, b) => a.path.length - b.path.length)[0];
  if (nearest !== undefined) return nearest;
  throw new StudioError('not_found', `File not found: ${candidates[0] ?? place.file}.`, {
    hint: 'If it was moved, open its folder.',
  });
}

/** Returns the submission of a rollout; undefined if it has none, or it cannot be read. */
export async function submissionOf(api: Api, rollout: string): Promise<Submission | undefined> {
  try {
    const { submission } = await api.rollout(rollout);
    const parsed = submissionSchema.safeParse(JSON.parse(new TextDecoder().decode(await api.getBlob(submission))));
    return parsed.success ? parsed.data : undefined; // for an imported batch, the blob is the recording
  } catch {
    return undefined; // still search the workspace
  }
}
