/** Converts a look to a VS Code tree item. */
import * as vscode from 'vscode';
import { uriOf } from '../files/workspaceFiles.ts';
import type { PromptPlace } from '../worlds/promptPreviews.ts';
import type { Icon, ItemContent } from './itemContent.ts';

export function treeItem(content: ItemContent, state: 'none' | 'closed' | 'open', id?: string): vscode.TreeItem {
  const item = new vscode.TreeItem(
    content.label,
    {
      none: vscode.TreeItemCollapsibleState.None,
      closed: vscode.TreeItemCollapsibleState.Collapsed,
      open: vscode.TreeItemCollapsibleState.Expanded,
    }[state],
  );
  if (id !== undefined) item.id = id;
  if (content.description !== undefined) item.description = content.description;
  if (content.tooltip !== undefined) item.tooltip = content.tooltip;
  if (content.icon !== undefined) item.iconPath = themeIcon(content.icon);
  if (content.context !== undefined) item.contextValue = content.context;
  item.accessibilityInformation = { label: content.ariaLabel };
  return item;
}

function themeIcon({ id, color }: Icon): vscode.ThemeIcon {
  return color === undefined ? new vscode.ThemeIcon(id) : new vscode.ThemeIcon(id, new vscode.ThemeColor(color));
}

/** Opens a file at a 1-based position. `base`: a file in the same file system. */
export function openPlace(
  base: vscode.Uri,
  { path, line, column }: { readonly path: string; readonly line: number; readonly column: number },
): vscode.Command {
  const at = new vscode.Position(line - 1, column - 1);
  const selection = new vscode.Range(at, at);
  return {
    command: 'vscode.open',
    title: 'Open Source',
    arguments: [uriOf(base, path), { selection } satisfies vscode.TextDocumentShowOptions],
  };
}

/** Shows the prompt of a simulated world at a heading. */
export function previewPrompt(world: vscode.Uri, heading: string): vscode.Command {
  return {
    command: 'rollout.previewPrompt',
    title: 'Preview World Prompt',
    arguments: [{ prompt: world, heading } satisfies PromptPlace],
  };
}
