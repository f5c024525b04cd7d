/** Converts a look to a VS Code tree item. */
import * as vscode from 'vscode';
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
