/** Implements Add MCP Server…: asks for the server, agent, and tools, then edits the agent file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { errorText, StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { addEntry, type NewEntry } from '../../../config/tools/mcp/addEntry.ts';
import { clientServers, type FoundServer } from '../../../config/tools/mcp/clientFile.ts';
import { newEntry } from '../../../config/tools/mcp/newEntry.ts';
import { askValue } from '../../launch/values/askValue.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { withValues } from '../../launch/values/withValues.ts';
import type { Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import { BACK, type Choice } from '../../window/questions/answer.ts';
import { input, pickMany, pickOne, type StepPlace } from '../../window/questions/dialogue.ts';
import { mcpConfigFiles } from './mcpConfigFiles.ts';
import { parseServer } from './parseServer.ts';

const TITLE = 'Add MCP Server';
const ENTER = Symbol('typed');

const probeReply = z.object({
  tools: z.array(z.object({ name: z.string(), description: z.string(), effect: z.string() })),
});
type ProbeResult = z.infer<typeof probeReply>;

export async function addServer(
  { cli, log }: Pick<Services, 'cli' | 'log'>,
  values: StoredValues,
  agent: vscode.Uri,
): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(agent)?.uri.fsPath ?? path.dirname(agent.fsPath);
  const server = await askServer(folder, log);
  if (server === undefined) return;
  const { tools } = await withProgress(`Connecting to ${server.name}`, ({ signal, report }) =>
    probe(cli, values, agent.fsPath, folder, server, signal, report),
  );
  if (tools.length === 0) throw new StudioError('not_found', `${server.name} has no tools.`);
  const chosen = await pickTools(tools, server.name);
  if (chosen === undefined) return;
  const entry = newEntry(server.name, server.server, chosen.length === tools.length ? undefined : chosen);
  await write(agent, entry);
  const message = [
    `Added ${plural(chosen.length, 'tool')} of “${server.name}” to ${path.basename(agent.path)}.`,
    ...server.notes,
  ].join(' ');
  void vscode.window.showInformationMessage(message);
}

async function askServer(folder: string, log: vscode.LogOutputChannel): Promise<FoundServer | undefined> {
  const configured: Choice<FoundServer>[] = [];
  for (const { file, text } of await mcpConfigFiles(folder)) {
    try {
      configured.push(
        ...clientServers(file, text, folder).found.map((value) => ({
          label: value.name,
          description:
            'url' in value.server ? value.server.url : [value.server.command, ...(value.server.args ?? [])].join(' '),
          detail: file,
          icon: 'server',
          value,
        })),
      );
    } catch (error) {
      log.warn(errorText(error)); // continue with the other files
    }
  }
  const place = (step: number): StepPlace => ({ title: TITLE, step, steps: configured.length === 0 ? 1 : 2 });
  for (;;) {
    const picked =
      configured.length === 0
        ? ENTER
        : await pickOne<FoundServer | typeof ENTER>(
            place(1),
            [{ label: 'Command or URL…', icon: 'edit', value: ENTER }, ...configured],
            { placeholder: 'Select a server' },
          );
    if (picked === undefined || picked === BACK) return undefined;
    if (picked !== ENTER) return picked;
    const entered = await input(place(configured.length === 0 ? 1 : 2), {
      prompt: 'Command or URL of the server. Write secrets as ${env:NAME}.',
      placeholder: 'npx -y @modelcontextprotocol/server-everything   or   http://localhost:3000/mcp',
      validate: (text) => {
        const server = parseServer(text);
        return typeof server === 'string' ? server : undefined;
      },
    });
    if (entered === undefined) return undefined;
    if (entered === BACK) continue;
    const server = parseServer(entered);
    if (typeof server !== 'string') return server;
  }
}

/** Starts the server once in a separate process to list its tools. */
async function probe(
  cli: Services['cli'],
  values: StoredValues,
  agent: string,
  folder: string,
  server: FoundServer,
  signal: AbortSignal,
  onProgress: (text: string) => void,
): Promise<ProbeResult> {
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'rollout-mcp-'));
  try {
    const file = path.join(temporary, 'mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: { [server.name]: server.server } }), { mode: 0o600 });
    const { result } = await withValues(values, [], askValue, (env) =>
      cli.json(['tool', 'add', agent, '--from', file, '--server', server.name, '--dry-run'], {
        cwd: folder,
        env,
        signal,
        onProgress,
      }),
    );
    return probeReply.parse(result);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Asks which tools to add. All are initially selected. */
async function pickTools(tools: ProbeResult['tools'], name: string): Promise<string[] | undefined> {
  const picked = await pickMany(
    { title: TITLE, step: 1, steps: 1 },
    tools.map((tool) => ({
      label: tool.name,
      description: tool.effect,
      detail: tool.description.split('\n')[0] ?? '',
      value: tool.name,
    })),
    {
      placeholder: `Select the tools of “${name}” to add`,
      selected: 'all',
    },
  );
  return picked === undefined || picked === BACK ? undefined : [...picked];
}

/** Applies the change as an edit, so that it can be undone. */
async function write(agent: vscode.Uri, entry: NewEntry): Promise<void> {
  const document = await vscode.workspace.openTextDocument(agent);
  const text = document.getText();
  const changed = addEntry(path.basename(agent.path), text, entry);
  const edit = new vscode.WorkspaceEdit();
  // Replace only the changed range, so that cursors and folds stay.
  let start = 0;
  while (start < text.length && text[start] === changed[start]) start++;
  let end = 0;
  while (end < text.length - start && text[text.length - 1 - end] === changed[changed.length - 1 - end]) end++;
  edit.replace(
    agent,
    new vscode.Range(document.positionAt(start), document.positionAt(text.length - end)),
    changed.slice(start, changed.length - end),
  );
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new StudioError('conflict', 'Cannot change the agent file.', { hint: 'Check that it is not read-only.' });
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const at = document.positionAt(start);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
