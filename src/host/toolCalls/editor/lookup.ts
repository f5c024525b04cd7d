/** Finds the tools of a document and their statistics, for all providers. */

import * as vscode from 'vscode';
import { textOf } from '../../../config/files.ts';
import { folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { type ToolLocation, toolFileKind, toolLocations } from '../state/toolLocations.ts';
import type { BatchStatistics, ToolStatistics } from '../state/toolStatistics.ts';

export interface LocatedStatistics {
  readonly location: ToolLocation;
  readonly statistics: BatchStatistics;
}

export class ToolLookup {
  readonly #statistics: ToolStatistics;
  /** Cached tools by document and version. */
  readonly #locations = new WeakMap<
    vscode.TextDocument,
    { readonly version: number; readonly locations: Promise<readonly ToolLocation[]> }
  >();

  constructor(statistics: ToolStatistics) {
    this.#statistics = statistics;
  }

  async locations(document: vscode.TextDocument): Promise<readonly ToolLocation[]> {
    const kind = toolFileKind(document.uri.path);
    if (kind === undefined || document.uri.scheme !== 'file' || !vscode.workspace.isTrusted) return [];
    let cached = this.#locations.get(document);
    // Do not cache agent files, because referenced files may change.
    if (cached === undefined || cached.version !== document.version || kind !== 'code') {
      const path = pathOf(document.uri);
      const files = workspaceFiles(folderOf(document.uri));
      const readText = (file: string): Promise<string | undefined> => textOf(files, file);
      cached = { version: document.version, locations: toolLocations(kind, path, document.getText(), readText) };
      this.#locations.set(document, cached);
    }
    return cached.locations;
  }

  /** Skips tools that no batch used. */
  async statistics(document: vscode.TextDocument): Promise<readonly LocatedStatistics[]> {
    const kind = toolFileKind(document.uri.path);
    if (kind === undefined) return [];
    const locations = await this.locations(document);
    const found = await Promise.all(
      locations.map(async (location) => {
        const statistics =
          location.names?.length === 0
            ? undefined
            : await this.#statistics.of(kind, document.uri.fsPath, location.names);
        return statistics === undefined ? undefined : { location, statistics };
      }),
    );
    return found.filter((each) => each !== undefined);
  }
}

export function rangeOf({ line, column, endColumn }: ToolLocation): vscode.Range {
  return new vscode.Range(line - 1, column - 1, line - 1, endColumn - 1);
}
