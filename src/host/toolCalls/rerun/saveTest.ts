/** Implements Save Call as Test Case, which writes a test of a recorded or repeated call to the workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { candidatesOf } from '../../../client/sourcePaths.ts';
import { testCase } from '../../../client/toolCalls/testCase.ts';
import { StudioError } from '../../../common/errors.ts';
import type { Json } from '../../../common/json.ts';
import { moduleTools } from '../../../config/tools/toolModules.ts';
import { exists, folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { writeTypes } from '../../files/writeTypes.ts';
import type { Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import type { DescribedCall, RerunCall } from './callOutput.ts';

/** Folders to use for tests if they exist. */
const FOLDERS = ['test', 'tests'];
const MAX_FILES = 1000;

interface TestSource {
  readonly call: DescribedCall;
  /** The arguments and result of the form, if the call was repeated. */
  readonly rerun: { readonly arguments: Json; readonly outcome: RerunCall } | undefined;
}

/** Writes the test, opens it, and offers to run it. */
export async function saveTest(services: Pick<Services, 'cli' | 'log'>, { call, rerun }: TestSource): Promise<void> {
  const module = await moduleOf(call);
  const folder = folderOf(module);
  const target = await unusedFile(folder, call.name);
  const label = vscode.workspace.asRelativePath(target, false);
  const { error, result } = rerun === undefined ? call : rerun.outcome;
  const text = testCase({
    name: call.name,
    arguments: rerun?.arguments ?? call.arguments,
    result,
    error,
    seed: call.seed,
    recorded: `task ${call.task.id}, step ${call.step} (${call.rollout}@${call.seq})`,
    module: importPath(target, module),
    command: `rollout test ${label}`,
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
  // Before the editor shows the file: the types of Node's test runner, which the workspace may not have.
  await withProgress(`Saving ${label}`, () => writeTypes(services, folder));
  await vscode.window.showTextDocument(target, { preview: false });
  void offerToRun(services.cli, target, label);
}

async function offerToRun(cli: Services['cli'], target: vscode.Uri, label: string): Promise<void> {
  if ((await vscode.window.showInformationMessage(`Saved ${label}.`, 'Run Test')) === undefined) return;
  const report = await withProgress(`Testing ${label}`, async ({ signal }) =>
    z
      .object({ passed: z.boolean(), output: z.string() })
      .parse(await cli.json(['test', target.fsPath], { cwd: folderOf(target).fsPath, signal })),
  );
  if (report.passed) {
    void vscode.window.showInformationMessage(`${label} passes.`);
    return;
  }
  if ((await vscode.window.showErrorMessage(`${label} fails.`, 'Show Output')) === undefined) return;
  await vscode.window.showTextDocument(
    await vscode.workspace.openTextDocument({ content: report.output, language: 'log' }),
    { preview: true },
  );
}

/** Finds the module that the test imports: the world's, or the one that exports the tool. */
export async function moduleOf(call: DescribedCall): Promise<vscode.Uri> {
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === 'file')
    .map(({ uri }) => uri.fsPath);
  const modules = [...call.modules.tools, ...(call.modules.world === undefined ? [] : [call.modules.world])];
  const candidates = call.of_world ? modules.slice(-1) : call.modules.tools;
  for (const module of candidates) {
    for (const candidate of candidatesOf(module.file, modules, folders)) {
      const uri = vscode.Uri.file(candidate);
      const files = workspaceFiles(folderOf(uri));
      const readText = (file: string): Promise<string | undefined> =>
        files.readText(file).catch((error: unknown) => {
          if (StudioError.is(error)) return undefined; // deleted, or not text
          throw error;
        });
      const tools = await moduleTools(pathOf(uri), 'exported', readText);
      if (tools === undefined) continue;
      if (call.of_world) return uri;
      const tool = tools.find(({ name }) => name === call.name);
      if (tool !== undefined) return vscode.Uri.file(tool.path);
    }
  }
  throw new StudioError('not_found', `The code of ${call.name} is not in this workspace.`, {
    hint: 'Open the folder that contains it. MCP and built-in tools have no code here.',
  });
}

/** Returns `tests/NAME.test.ts`, or a numbered name if that file exists. */
async function unusedFile(folder: vscode.Uri, name: string): Promise<vscode.Uri> {
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

function importPath(from: vscode.Uri, to: vscode.Uri): string {
  const relative = path.posix.relative(path.posix.dirname(from.path), to.path);
  return relative.startsWith('.') ? relative : `./${relative}`;
}
