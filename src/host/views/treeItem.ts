/** Converts a look to a VS Code tree item. */
import * as vscode from 'vscode';
import type { Icon, Look } from './look.ts';

export function treeItem(look: Look, state: 'none' | 'closed' | 'open', id?: string): vscode.TreeItem {
  const item = new vscode.TreeItem(
    look.label,
    {
      none: vscode.TreeItemCollapsibleState.None,
      closed: vscode.TreeItemCollapsibleState.Collapsed,
      open: vscode.TreeItemCollapsibleState.Expanded,
    }[state],
  );
  if (id !== undefined) item.id = id;
  if (look.description !== undefined) item.description = look.description;
  if (look.tooltip !== undefined) item.tooltip = look.tooltip;
  if (look.icon !== undefined) item.iconPath = themeIcon(look.icon);
  if (look.context !== undefined) item.contextValue = look.context;
  item.accessibilityInformation = { label: look.spoken };
  return item;
}

function themeIcon({ id, color }: Icon): vscode.ThemeIcon {
  return color === undefined ? new vscode.ThemeIcon(id) : new vscode.ThemeIcon(id, new vscode.ThemeColor(color));
}
