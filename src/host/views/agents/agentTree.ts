/** The Agents and Tools view: agent files with their tools. Reads files only, without running anything. */

import * as vscode from 'vscode';
import { errorText } from '../../../common/errors.ts';
import { textOf } from '../../../config/files.ts';
import type { StudioFiles } from '../../files/studioFiles.ts';
import { folderOf, pathOf, uriOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import type { Services } from '../../services.ts';
import { openPlace, previewPrompt, treeItem } from '../treeItem.ts';
import type { AgentNode } from './agentNodes.ts';

interface AgentItem {
  readonly node: AgentNode;
  /** URI of the agent file. */
  readonly uri: vscode.Uri;
}

export class AgentTree implements vscode.TreeDataProvider<AgentItem> {
  readonly #services: Services;
  readonly #files: StudioFiles;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(services: Services, files: StudioFiles) {
    this.#services = services;
    this.#files = files;
  }

  refresh(): void {
    this.#changed.fire(undefined);
  }

  dispose(): void {
    this.#changed.dispose();
  }

  getTreeItem({ node, uri }: AgentItem): vscode.TreeItem {
    const item = treeItem(node.item, node.children.length === 0 ? 'none' : node.kind === 'agent' ? 'open' : 'closed');
    item.command =
      node.preview === undefined
        ? openPlace(uri, node.location)
        : previewPrompt(uriOf(uri, node.location.path), node.preview);
    return item;
  }

  async getChildren(item?: AgentItem): Promise<AgentItem[]> {
    if (item !== undefined) return item.node.children.map((node) => ({ node, uri: item.uri }));
    const [uris, batches] = await Promise.all([this.#files.list('agent'), this.#files.index.all()]);
    const items = await Promise.all(
      uris.map((uri) => {
        const path = pathOf(uri);
        const worlds = new Set(
          batches.flatMap(({ agent, world }) => (agent === path && world !== undefined ? [world] : [])),
        );
        return this.#agent(uri, [...worlds]);
      }),
    );
    return items.filter((each) => each !== undefined);
  }

  async #agent(uri: vscode.Uri, worlds: readonly string[]): Promise<AgentItem | undefined> {
    const files = workspaceFiles(folderOf(uri));
    try {
      const { agentNode } = await import('./agentNodes.ts');
      const path = pathOf(uri);
      const readText = (module: string): Promise<string | undefined> => textOf(files, module);
      return { uri, node: await agentNode(path, await files.readText(path), worlds, readText) };
    } catch (error) {
      this.#services.log.warn(`Agents view: ${uri.path}: ${errorText(error)}`);
      return undefined; // deleted
    }
  }
}
