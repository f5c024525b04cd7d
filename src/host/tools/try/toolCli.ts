/** Runs `rollout tool …` for a file, with the values that its tools require. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { listedTool } from '../../../protocol/tryPage.ts';
import { askValue } from '../../launch/values/askValue.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { withValues } from '../../launch/values/withValues.ts';
import type { Cli } from '../../services.ts';

const listedTools = z.object({ tools: z.array(listedTool), problems: z.array(z.string()) });
type ListedTools = z.infer<typeof listedTools>;

export class ToolCli {
  readonly #cli: Cli;
  readonly #values: StoredValues;

  constructor(cli: Cli, values: StoredValues) {
    this.#cli = cli;
    this.#values = values;
  }

  /** Lists the tools of a module or agent file, and problems. */
  async list(file: string, signal: AbortSignal): Promise<ListedTools> {
    return listedTools.parse(await this.json(file, ['list', file], signal));
  }

  /** Runs `rollout tool ARGS` in the workspace of `file`. */
  async json(
    file: string,
    args: readonly string[],
    signal: AbortSignal,
    onProgress?: (line: string) => void,
  ): Promise<unknown> {
    const cwd = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file))?.uri.fsPath ?? path.dirname(file);
    const { result } = await withValues(this.#values, [], askValue, (env) =>
      this.#cli.json(['tool', ...args], { cwd, env, signal, ...(onProgress === undefined ? {} : { onProgress }) }),
    );
    return result;
  }
}
