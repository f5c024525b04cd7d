/** Implements Import Tools from OpenAPI…: asks for the description and module, then generates the module. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { exists } from '../files/workspaceFiles.ts';
import { writeTypes } from '../files/writeTypes.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const TITLE = 'Import Tools from OpenAPI';
const importReply = z.object({
  tools: z.array(z.object({ name: z.string() })),
  secrets: z.array(z.string()),
  skipped: z.array(z.object({ operation: z.string(), why: z.string() })),
  baseUrl: z.string().optional(),
});

export async function importOpenApi({ cli, log }: Pick<Services, 'cli' | 'log'>): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
  if (folder === undefined) throw new StudioError('usage', 'No folder is open.', { hint: 'Open a folder first.' });
  const spec = await askSpec(folder);
  if (spec === undefined) return;
  const module = await askModule(folder, spec);
  if (module === undefined) return;
  const generated = importReply.parse(
    await withProgress('Creating tools', ({ signal }) =>
      cli.json(['tool', 'openapi', spec, '--out', module], { cwd: folder.fsPath, signal }),
    ),
  );
  void writeTypes({ cli, log }, folder);
  for (const { operation, why } of generated.skipped) log.warn(`${operation} was skipped: ${why}.`);
  await vscode.window.showTextDocument(vscode.Uri.joinPath(folder, module), { preview: false });
  const notes = [
    `Created ${module} with ${plural(generated.tools.length, 'tool')}.`,
    ...(generated.skipped.length === 0
      ? []
      : [`${plural(generated.skipped.length, 'operation')} skipped. See the log.`]),
    ...(generated.baseUrl === undefined ? ['Set its BASE_URL.'] : []),
    ...(generated.secrets.length === 0 ? [] : [`Set ${generated.secrets.join(', ')} in \`secrets\` of its entry.`]),
  ];
  void vscode.window.showInformationMessage(notes.join(' '));
}

/** Asks for a local file or a URL. */
async function askSpec(folder: vscode.Uri): Promise<string | undefined> {
  const items = [
    { label: '$(globe) URL…', url: true },
    { label: '$(file) File…', url: false },
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: TITLE,
    placeHolder: 'Path or URL of the OpenAPI description',
  });
  if (picked === undefined) return undefined;
  if (picked.url) {
    const url = await vscode.window.showInputBox({
      title: TITLE,
      prompt: 'URL of the description',
      placeHolder: 'https://example.com/openapi.json',
      ignoreFocusOut: true,
      validateInput: (text) => (/^https?:\/\/\S+$/.test(text.trim()) ? undefined : 'Enter an http or https URL.'),
    });
    return url?.trim();
  }
  const [file] =
    (await vscode.window.showOpenDialog({
      title: TITLE,
      defaultUri: folder,
      canSelectMany: false,
      filters: { OpenAPI: ['json', 'yaml', 'yml'] },
    })) ?? [];
  return file?.fsPath;
}

async function askModule(folder: vscode.Uri, spec: string): Promise<string | undefined> {
  const base = /^https?:/.test(spec)
    ? (new URL(spec).hostname.split('.').at(-2) ?? 'service')
    : path.basename(spec).replace(/\.\w+$/, '');
  const module = await vscode.window.showInputBox({
    title: TITLE,
    prompt: 'Module to create',
    value: `tools/${base.replaceAll(/[^\w-]+/g, '_')}.ts`,
    ignoreFocusOut: true,
    validateInput: async (text) => {
      if (!/^[^\\:*?"<>|]+\.ts$/.test(text.trim()) || text.includes('..'))
        return 'Enter a path in the folder that ends in .ts.';
      return (await exists(vscode.Uri.joinPath(folder, text.trim())))
        ? `${text.trim()} already exists. Choose another name.`
        : undefined;
    },
  });
  return module?.trim();
}
