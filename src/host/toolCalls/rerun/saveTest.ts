/** “Save as Test Case”: a test of a recorded call, or of one made again, as a new file of the workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { candidatesOf } from '../../../client/sourcePaths.ts';
import { testCase } from '../../../client/toolCalls/testCase.ts';
import { StudioError } from '../../../common/errors.ts';
import type { Json } from '../../../common/json.ts';
import { moduleTools } from '../../../config/tools/toolModules.ts';
import { folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import type { Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import type { DescribedCall, RerunCall } from './described.ts';

/** Folders that tests are put into where there is one. */
const FOLDERS = ['test', 'tests'];
const MAX_FILES = 1000;

export interface SavedTest {
  readonly call: DescribedCall;
  /** Of the form: other arguments than recorded, and what they gave. */
  readonly made: { readonly arguments: Json; readonly outcome: RerunCall } | undefined;
}

/** Writes the test, opens it, offers to run it. */
export async function saveTest({ cli }: Pick<Services, 'cli'>, { call, made }: SavedTest): Promise<void> {
  const module = await moduleOf(call);
  const folder = folderOf(module);
  const target = await freeFile(folder, call.name);
  const shown = vscode.workspace.asRelativePath(target, false);
  const { error, result } = made === undefined ? call : made.outcome;
  const text = testCase({
    name: call.name,
    arguments: made?.arguments ?? call.arguments,
    result,
    error,
    seed: call.seed,
    recorded: `task ${call.task.id}, step ${call.step} (${call.rollout}@${call.seq})`,
    module: importPath(target, module),
    command: `rollout test ${shown}`,
    ...(call.of_world && call.world !== undefined
      ? {
          world: {
            seed: call.world.seed,
            task: call.task as Json,
            before: call.world.before.filter(({ effect }) => effect === 'restorable'),
          },
        }
      : {}),
  });
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(target, { preview: false });
  void offerToRun(cli, target, shown);
}

async function offerToRun(cli: Services['cli'], target: vscode.Uri, shown: string): Promise<void> {
  if ((await vscode.window.showInformationMessage(`Saved ${shown}.`, 'Run Test')) === undefined) return;
  const told = await withProgress(`Testing ${shown}`, async ({ signal }) =>
    z
      .object({ passed: z.boolean(), output: z.string() })
      .parse(await cli.json(['test', target.fsPath], { cwd: folderOf(target).fsPath, signal })),
  );
  if (told.passed) {
    void vscode.window.showInformationMessage(`${shown} passes.`);
    return;
  }
  if ((await vscode.window.showErrorMessage(`${shown} fails.`, 'Show Output')) === undefined) return;
  await vscode.window.showTextDocument(
    await vscode.workspace.openTextDocument({ content: told.output, language: 'log' }),
    { preview: true },
  );
}

/** The module that a test imports: the world's, or the one that exports the tool. */
export async function moduleOf(call: DescribedCall): Promise<vscode.Uri> {
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === 'file')
    .map(({ uri }) => uri.fsPath);
  const modules = [...call.modules.tools, ...(call.modules.world === undefined ? [] : [call.modules.world])];
  const wanted = call.of_world ? modules.slice(-1) : call.modules.tools;
  for (const module of wanted) {
    for (const candidate of candidatesOf(module.file, modules, folders)) {
      const uri = vscode.Uri.file(candidate);
      const files = workspaceFiles(folderOf(uri));
      const readText = (file: string): Promise<string | undefined> =>
        files.readText(file).catch((error: unknown) => {
          if (StudioError.is(error)) return undefined; // gone, or not text
          throw error;
        });
      const tools = await moduleTools(pathOf(uri), 'exported', readText);
      if (tools === undefined) continue;
      if (call.of_world) return uri;
      const own = tools.find(({ name }) => name === call.name);
      if (own !== undefined) return vscode.Uri.file(own.path);
    }
  }
  throw new StudioError('not_found', `The code of ${call.name} is not in this workspace.`, {
    hint: 'Open the folder that contains it. MCP and built-in tools have no code here.',
  });
}

/** `tests/NAME.test.ts`, or the first such name that is free. */
async function freeFile(folder: vscode.Uri, name: string): Promise<vscode.Uri> {
  const parent = await testFolder(folder);
  for (let n = 1; n <= MAX_FILES; n++) {
    const uri = vscode.Uri.joinPath(parent, `${name}${n === 1 ? '' : `-${n}`}.test.ts`);
    if (!(await exists(uri))) return uri;
  }
  throw new StudioError('conflict', `${name} already has ${MAX_FILES} tests.`);
}

async function testFolder(folder: vscode.Uri): Promise<vscode.Uri> {
  for (const name of FOLDERS) {
    const uri = vscode.Uri.joinPath(folder, name);
    if (await exists(uri)) return uri;
  }
  return vscode.Uri.joinPath(folder, 'tests');
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return false;
    throw error;
  }
}

function importPath(from: vscode.Uri, to: vscode.Uri): string {
  const relative = path.posix.relative(path.posix.dirname(from.path), to.path);
  return relative.startsWith('.') ? relative : `./${relative}`;
}
