/** Show Team: the picture of a team beside its file, drawn anew while that is edited; its boxes lead to their lines. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { loadAgent } from '../../config/load.ts';
import { basename } from '../../config/paths.ts';
import { pathOf, uriOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { CommandGroup } from '../services.ts';
import { type GraphPlace, teamGraph } from './teamGraph.ts';
import { problemPage, teamPage } from './teamPicture.ts';

const VIEW_TYPE = 'rollout.team';
/** After the last key. */
const QUIET_MS = 300;
const clicked = z.object({ box: z.number().int().min(0) });

export function teamCommands(): CommandGroup<'rollout.showTeam'> {
  const open = new Map<string, vscode.WebviewPanel>();
  return {
    'rollout.showTeam': async (given) => {
      const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
      if (uri === undefined || fileKind(uri.path) !== 'agent')
        throw new StudioError('usage', 'There is no agent file open.', {
          hint: 'Open a file named like desk.agent.yaml.',
        });
      const before = open.get(uri.toString());
      if (before !== undefined) {
        before.reveal();
        return;
      }
      const { value, problems } = await loadAgent(filesBeside(uri), pathOf(uri));
      if (value !== undefined && value.team === undefined)
        throw new StudioError('usage', `${basename(uri.path)} has no team.`, {
          hint: 'Give it one: `team: { kind: handoff, members: […] }`.',
        });
      if (value === undefined && problems.length === 0)
        throw new StudioError('internal', 'The agent file could not be read, and nothing says why.');
      const panel = vscode.window.createWebviewPanel(
        VIEW_TYPE,
        `Team ${basename(uri.path).replace(/\.agent\.\w+$/, '')}`,
        vscode.ViewColumn.Beside,
        { enableScripts: true, localResourceRoots: [] },
      );
      open.set(uri.toString(), panel);
      const listeners = follow(panel, uri);
      panel.onDidDispose(() => {
        open.delete(uri.toString());
        listeners.dispose();
      });
    },
  };
}

function filesBeside(uri: vscode.Uri): ReturnType<typeof workspaceFiles> {
  return workspaceFiles(vscode.Uri.joinPath(uri, '..'));
}

function follow(panel: vscode.WebviewPanel, uri: vscode.Uri): vscode.Disposable {
  let places: readonly GraphPlace[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let drawn = 0;
  const draw = async (): Promise<void> => {
    const turn = ++drawn;
    const { value, problems } = await loadAgent(filesBeside(uri), pathOf(uri));
    if (turn !== drawn) return; // a later look has what was typed since
    const nonce = randomBytes(16).toString('base64url');
    const title = `The team of ${basename(uri.path)}`;
    if (value?.team === undefined) {
      const [first] = problems;
      places = [];
      panel.webview.html = problemPage(
        title,
        first === undefined
          ? 'The file no longer has a team.'
          : `${basename(first.file)}, line ${first.line}: ${first.message}. ${first.hint}`,
        nonce,
      );
      return;
    }
    const graph = teamGraph(value);
    places = graph.boxes.map(({ place }) => place);
    panel.webview.html = teamPage(title, graph, nonce);
  };
  void draw();
  return vscode.Disposable.from(
    { dispose: () => clearTimeout(timer) },
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (fileKind(document.uri.path) !== 'agent') return;
      clearTimeout(timer);
      timer = setTimeout(() => void draw(), QUIET_MS);
    }),
    panel.webview.onDidReceiveMessage((raw: unknown) => {
      const told = clicked.safeParse(raw);
      const place = told.success ? places[told.data.box] : undefined;
      if (place !== undefined) void reveal(uri, place);
    }),
  );
}

async function reveal(base: vscode.Uri, { path, line }: GraphPlace): Promise<void> {
  const target = uriOf(base, path);
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === target.toString());
  const at = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(target, {
    selection: new vscode.Range(at, at),
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
  });
}
