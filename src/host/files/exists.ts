import * as vscode from 'vscode';

export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (thrown) {
    if (thrown instanceof vscode.FileSystemError) return false;
    throw thrown;
  }
}
