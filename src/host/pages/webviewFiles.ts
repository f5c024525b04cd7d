/** Documents of webviews, and where their files are. */
import * as vscode from 'vscode';
import { pageHtml } from '../../common/pageHtml.ts';

/** Restricts webviews to the built pages. */
export function webviewOptions(context: vscode.ExtensionContext): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [pageFolder(context)] };
}

export function pageFolder(context: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(context.extensionUri, 'dist', 'webview');
}

/**
 * Returns the document of a page with a script and a style sheet of its own. `state`: what the page is restored with,
 * as it first shows it.
 */
export function ownPageHtml(
  { webview, title }: vscode.WebviewPanel,
  context: vscode.ExtensionContext,
  page: 'try' | 'world',
  state: object,
): string {
  const url = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(pageFolder(context), file)).toString();
  const own = webview.cspSource;
  return pageHtml({
    title,
    sources: { script: [own], style: [own], font: [own], img: [own, 'data:'], connect: [], worker: ['blob:'] },
    script: { url: url(`${page}.js`) },
    style: { url: url(`${page}.css`) },
    bodyAttributes: { 'data-host': 'vscode', 'data-page': page, 'data-shown': JSON.stringify(state) },
  });
}
