/** Finds a trajectory's source file on this machine, from submitted paths or in the workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { candidatesOf, scenarioCodeOf } from '../../client/sourcePaths.ts';
import { StudioError } from '../../common/errors.ts';
import { type SubmittedScenario, scenarioCodeFile } from '../../config/submission/world.ts';
import { modulesOf, type Submission, scenariosOf, submission as submissionSchema } from '../../config/submission.ts';
import { looseFile } from '../../formats/awmFiles.ts';
import type { Api } from '../../protocol/api.ts';
import type { Place } from '../../trace/schema.ts';
import { currentLine } from '../../trace/toolCalls/errorLines.ts';
import { exists } from '../files/workspaceFiles.ts';
import { recordedCodeUri, scenarioUri } from '../worlds/scenarioDocuments.ts';

/** Where a place is now. */
interface FoundSource {
  readonly uri: vscode.Uri;
  /** From 1. */
  readonly line: number;
}

/** Finds the file of `place`. `api` is the rollout's server. Throws StudioError `not_found`. */
export async function findSource(
  place: Place,
  api: Api | undefined,
  rollout: string | undefined,
): Promise<FoundSource> {
  const { line } = place;
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
  const scenario = Object.entries(submitted === undefined ? {} : scenariosOf(submitted)).find(
    ([name, each]) => scenarioCodeFile(name, each) === place.file,
  );
  if (api !== undefined && scenario !== undefined) return await scenarioSource(api, scenario, line, candidates);
  for (const file of candidates) {
    const uri = vscode.Uri.file(file);
    if (await exists(uri)) return { uri, line };
    const code = scenarioCodeOf(file);
    if (code !== undefined && (await exists(vscode.Uri.file(code.published))))
      return { uri: scenarioUri({ from: code.from, key: code.key, part: 'code' }), line };
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
  if (nearest !== undefined) return { uri: nearest, line };
  throw new StudioError('not_found', `File not found: ${candidates[0] ?? place.file}.`, {
    hint: 'If it was moved, open its folder.',
  });
}

/**
 * Finds a line of a scenario's code: in its extracted file, if the line is still there, else in the code as it was
 * recorded.
 */
async function scenarioSource(
  api: Api,
  [name, { code }]: readonly [string, SubmittedScenario],
  line: number,
  candidates: readonly string[],
): Promise<FoundSource> {
  const files = candidates.map((file) => vscode.Uri.file(file));
  files.push(...(await vscode.workspace.findFiles(`**/${looseFile('code', name)}`, '**/node_modules/**', 1)));
  for (const uri of files) {
    if (!(await exists(uri))) continue;
    const recorded = new TextDecoder().decode(await api.getBlob(code)).split(/\r?\n/);
    const document = await vscode.workspace.openTextDocument(uri);
    const now = currentLine(line, recorded, document.getText().split(/\r?\n/));
    if (now !== undefined) return { uri, line: now };
  }
  return { uri: recordedCodeUri(name, code), line };
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
