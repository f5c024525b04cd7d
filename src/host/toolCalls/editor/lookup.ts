/** Finds the tools of a document and their statistics, for all providers. */
import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { type ToolSpot, toolFileKind, toolSpots } from '../state/spots.ts';
import type { Figures, ToolFigures } from '../state/toolFigures.ts';

export interface FiguredSpot {
  readonly spot: ToolSpot;
  readonly figures: ToolFigures;
}

export class Lookup {
  readonly #figures: Figures;
  /** Cached tools by document and version. */
  readonly #spots = new WeakMap<
    vscode.TextDocument,
    { readonly version: number; readonly spots: Promise<readonly ToolSpot[]> }
  >();

  constructor(figures: Figures) {
    this.#figures = figures;
  }

  async spots(document: vscode.TextDocument): Promise<readonly ToolSpot[]> {
    const kind = toolFileKind(document.uri.path);
    if (kind === undefined || document.uri.scheme !== 'file' || !vscode.workspace.isTrusted) return [];
    let cached = this.#spots.get(document);
    // Do not cache agent files, because referenced files may change.
    if (cached === undefined || cached.version !== document.version || kind !== 'code') {
      const path = pathOf(document.uri);
      const files = workspaceFiles(folderOf(document.uri));
      const readText = (file: string): Promise<string | undefined> =>
        files.readText(file).catch((error: unknown) => {
          if (StudioError.is(error)) return undefined; // deleted, or not text
          throw error;
        });
      cached = { version: document.version, spots: toolSpots(kind, path, document.getText(), readText) };
      this.#spots.set(document, cached);
    }
    return cached.spots;
  }

  /** Skips tools that no batch used. */
  async figured(document: vscode.TextDocument): Promise<readonly FiguredSpot[]> {
    const kind = toolFileKind(document.uri.path);
    if (kind === undefined) return [];
    const spots = await this.spots(document);
    const found = await Promise.all(
      spots.map(async (spot) => {
        const figures =
          spot.names?.length === 0 ? undefined : await this.#figures.of(kind, document.uri.fsPath, spot.names);
        return figures === undefined ? undefined : { spot, figures };
      }),
    );
    return found.filter((each) => each !== undefined);
  }
}

export function rangeOf({ line, column, endColumn }: ToolSpot): vscode.Range {
  return new vscode.Range(line - 1, column - 1, line - 1, endColumn - 1);
}
