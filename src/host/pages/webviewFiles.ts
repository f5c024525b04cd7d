/** Restricts webviews to the built pages. */
import * as vscode from 'vscode';

export function webviewOptions(context: vscode.ExtensionContext): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [pageFolder(context)] };
}

export function pageFolder(context: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(context.extensionUri, 'dist', 'webview');
}
