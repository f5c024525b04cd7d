/**
 * Marks lines of code that threw in the selected batch. Hovers show how often, the messages, and the newest call.
 */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import { currentLine, type ErrorLine, errorLines } from '../../../trace/toolCalls/errorLines.ts';
import { cut } from '../../../trace/toolCalls/text.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/debuggers.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { setting } from '../../window/settings.ts';
import { isSame } from '../state/definitions.ts';
import { toolFileKind } from '../state/toolLocations.ts';
import type { BatchStatistics, ToolStatistics } from '../state/toolStatistics.ts';
import { appendCall, commandMarkdown } from './hovers.ts';

const MESSAGES = 3;
const WIDTH = 160;
/** Debounces editor changes. */
const SETTLE_MS = 200;

export class ErrorMarks implements vscode.Disposable {
  readonly #statistics: ToolStatistics;
  readonly #log: (text: string) => void;
  readonly #type: vscode.TextEditorDecorationType;
  #timer: NodeJS.Timeout | undefined;

  constructor(statistics: ToolStatistics, icon: vscode.Uri, log: (text: string) => void) {
    this.#statistics = statistics;
    this.#log = log;
    this.#type = vscode.window.createTextEditorDecorationType({
      gutterIconPath: icon,
      gutterIconSize: 'contain',
      overviewRulerColor: new vscode.ThemeColor('editorError.foreground'),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.refresh();
  }

  /** Schedules an update of the marks. */
  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      for (const editor of vscode.window.visibleTextEditors) {
        this.#draw(editor).catch((error: unknown) =>
          this.#log(`No marks at ${editor.document.fileName}: ${String(error)}`),
        );
      }
    }, SETTLE_MS);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#type.dispose();
  }

  async #draw(editor: vscode.TextEditor): Promise<void> {
    const { document } = editor;
    if (document.uri.scheme !== 'file' || toolFileKind(document.uri.path) !== 'code') return;
    const on = vscode.workspace.isTrusted && setting('tools.errorMarks');
    const workspaceStatistics = on ? await this.#statistics.ofWorkspace(document.uri.fsPath) : undefined;
    editor.setDecorations(
      this.#type,
      workspaceStatistics === undefined ? [] : await marksOf(document, workspaceStatistics),
    );
  }
}

async function marksOf(
  document: vscode.TextDocument,
  { row, definition, calls }: Pick<BatchStatistics, 'row' | 'definition' | 'calls'>,
): Promise<vscode.DecorationOptions[]> {
  if (definition === undefined) return [];
  const files = new Set<string>();
  const isDocument = (file: string): boolean => {
    const isSameFile = isSame(definition.places.ofFile(file), document.uri.fsPath);
    if (isSameFile) files.add(file);
    return isSameFile;
  };
  const lines = errorLines(calls.calls(calls.tools), isDocument);
  const [file] = files;
  const submittedLines = file === undefined ? undefined : await definition.linesOf(file);
  const currentLines = document.getText().split(/\r?\n/);
  return lines.flatMap((error) => {
    // Skip lines that changed since the batch.
    const line = submittedLines === undefined ? error.line : currentLine(error.line, submittedLines, currentLines);
    if (line === undefined || line > document.lineCount) return [];
    const text = document.lineAt(line - 1);
    const range = new vscode.Range(
      line - 1,
      text.firstNonWhitespaceCharacterIndex,
      line - 1,
      text.text.trimEnd().length,
    );
    const newest = calls.row(error.newest.rollout);
    return [
      {
        range,
        hoverMessage: markText(
          error,
          `${row.name}, ${agoText(Date.now() - row.created_at)}`,
          newest === undefined ? '' : outcomeOf(newest),
        ),
      },
    ];
  });
}

function markText({ count, messages, newest }: ErrorLine, batch: string, outcome: string): vscode.MarkdownString {
  const text = commandMarkdown();
  text.appendText(`Threw ${count === 1 ? 'once' : `${count.toLocaleString('en')} times`} in ${batch}\n`);
  for (const message of messages.slice(0, MESSAGES))
    text.appendCodeblock(`${message.count} × ${cut(message.text, WIDTH)}`, TRAJECTORY_LANGUAGE);
  if (messages.length > MESSAGES) text.appendText(`and ${plural(messages.length - MESSAGES, 'other message')}\n\n`);
  text.appendText('Newest call:\n');
  appendCall(text, newest, true, outcome);
  return text;
}
