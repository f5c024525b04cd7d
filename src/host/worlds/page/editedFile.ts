/** Files of extracted scenarios that replace what the published rows have. */
import path from 'node:path';
import * as vscode from 'vscode';
import { isLoosePart, isVerifier, looseFile } from '../../../formats/awmFiles.ts';
import { exists } from '../../files/workspaceFiles.ts';

/** Returns the file from which a part of a scenario is read. undefined: it is read from the rows. */
export async function editedFile(
  folder: string,
  part: string,
  key: string,
  task: number | undefined,
): Promise<vscode.Uri | undefined> {
  if (!isLoosePart(part)) return undefined;
  const name = isVerifier(part) ? looseFile(part, key, task ?? 0) : looseFile(part, key);
  const uri = vscode.Uri.file(path.join(folder, name));
  return (await exists(uri)) ? uri : undefined;
}
