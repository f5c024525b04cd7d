/** Implements the tool commands. */
import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { filePattern } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { findFiles } from '../files/findFiles.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { CommandGroup, Services } from '../services.ts';
import type { TryPanels } from './try/tryPanels.ts';

const MAX_AGENTS = 200;
const AGENT = new RegExp(filePattern('agent'));
const TOOL_FILE = new RegExp(`\\.[cm]?[jt]sx?$|${filePattern('agent')}`);

export function toolCommands(
  services: Services,
  values: StoredValues,
  panels: TryPanels,
): CommandGroup<'rollout.tryTool' | 'rollout.addMcpServer' | 'rollout.importOpenApi'> {
  return {
    'rollout.tryTool': async (uri, tool, args) => {
      const file =
        uri instanceof vscode.Uri ? uri : await activeOrPickedAgent(TOOL_FILE, 'Select an agent', 'Try Tool');
      if (file === undefined) return;
      if (file.scheme !== 'file')
        throw new StudioError('unsupported', 'Only files on disk can run.', {
          hint: 'Save it first.',
        });
      await panels.open(
        file.fsPath,
        typeof tool === 'string' ? tool : undefined,
        isJsonObject(args) ? args : undefined,
      );
    },
    'rollout.addMcpServer': async (uri) => {
      const agent =
        uri instanceof vscode.Uri
          ? uri
          : await activeOrPickedAgent(AGENT, 'Select the agent to add the server to', 'Add MCP Server');
      if (agent === undefined) return;
      await (await import('./mcp/addServer.ts')).addServer(services, values, agent);
    },
    'rollout.importOpenApi': async () => (await import('./openApi.ts')).importOpenApi(services),
  };
}

/** Returns the active file if its name matches, or else lets the user pick an agent. */
async function activeOrPickedAgent(
  pattern: RegExp,
  placeHolder: string,
  title: string,
): Promise<vscode.Uri | undefined> {
  const active = vscode.window.activeTextEditor?.document.uri;
  if (active?.scheme === 'file' && pattern.test(path.basename(active.path))) return active;
  const agents = await findFiles(
    (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri),
    'agent',
    MAX_AGENTS,
  );
  if (agents.length === 0)
    throw new StudioError('not_found', 'This workspace has no agent files.', {
      hint: 'Create one with Rollout: New Agent….',
    });
  const items = agents
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri, false), uri }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  return (await vscode.window.showQuickPick(items, { title, placeHolder }))?.uri;
}
