/** The tools of a document with their figures, as every provider asks for them. */
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
  /** By document, of one version of it. */
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
    let known = this.#spots.get(document);
    // What an agent file leads to may change while it stays as it is.
    if (known === undefined || known.version !== document.version || kind !== 'code') {
      const path = pathOf(document.uri);
      const files = workspaceFiles(folderOf(document.uri));
      const readText = (file: string): Promise<string | undefined> =>
        files.readText(file).catch((error: unknown) => {
          if (StudioError.is(error)) return undefined; // gone, or not text
          throw error;
        });
      known = { version: document.version, spots: toolSpots(kind, path, document.getText(), readText) };
      this.#spots.set(document, known);
    }
    return known.spots;
  }

  /** Tools that no batch used are left out. */
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
