/** Where a source file of a trajectory is on this machine: what was submitted tells, or the workspace has it. */
import path from 'node:path';
import * as vscode from 'vscode';
import { candidatesOf } from '../../client/sourcePaths.ts';
import { StudioError } from '../../common/errors.ts';
import { modulesOf, type Submission, submission as submissionSchema } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { Place } from '../../trace/schema.ts';

/** The file of `place`. `api`: of the server that has `rollout`. Throws `not_found` in words for people. */
export async function findSource(place: Place, api: Api | undefined, rollout: string | undefined): Promise<vscode.Uri> {
  const submitted = api === undefined || rollout === undefined ? undefined : await submissionOf(api, rollout);
  const modules = submitted === undefined ? [] : modulesOf(submitted);
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .map(({ uri }) => uri)
    .filter((uri) => uri.scheme === 'file');
  const tried = candidatesOf(
    place.file,
    modules,
    folders.map((folder) => folder.fsPath),
  );
  for (const file of tried) {
    const uri = vscode.Uri.file(file);
    if (await exists(uri)) return uri;
  }
  // A workspace that is opened one folder higher than it was submitted from.
  const pattern = `**/${place.file.replaceAll(/[[\]{}?*!]/g, '?')}`;
  const found = path.isAbsolute(place.file)
    ? []
    : await Promise.all(
        folders.map((folder) =>
          vscode.workspace.findFiles(new vscode.RelativePattern(folder, pattern), '**/node_modules/**', 20),
        ),
      );
  const nearest = found.flat().sort((a, b) => a.path.length - b.path.length)[0];
  if (nearest !== undefined) return nearest;
  throw new StudioError(
    'not_found',
    `${place.file} is not there any more${tried[0] === undefined ? '' : `: it was looked for at ${tried[0]}`}.`,
    {
      hint: 'If it moved, open the folder it is in.',
    },
  );
}

async function submissionOf(api: Api, rollout: string): Promise<Submission | undefined> {
  try {
    const { submission } = await api.rollout(rollout);
    const parsed = submissionSchema.safeParse(JSON.parse(new TextDecoder().decode(await api.getBlob(submission))));
    return parsed.success ? parsed.data : undefined; // an imported batch has a recording in its place
  } catch {
    return undefined; // the workspace is looked through all the same
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
