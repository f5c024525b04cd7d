/**
 * Marks lines of code that threw in the selected batch. Hovers show how often, the messages, and the newest call.
 */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import type { ErrorLine } from '../../../trace/toolCalls/errorLines.ts';
import { cut } from '../../../trace/toolCalls/text.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/names.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { setting } from '../../window/settings.ts';
import { toolFileKind } from '../state/toolLocations.ts';
import type { ToolStatistics } from '../state/toolStatistics.ts';
import { type DocumentErrors, errorsIn, scenarioOfCode } from './documentErrors.ts';
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
    if (document.uri.scheme !== 'file') return;
    if (toolFileKind(document.uri.path) !== 'code' && scenarioOfCode(document.uri) === undefined) return;
    const on = vscode.workspace.isTrusted && setting('tools.errorMarks');
    const errors = on ? await errorsIn(this.#statistics, document) : undefined;
    editor.setDecorations(this.#type, errors === undefined ? [] : marksOf(errors));
  }
}

function marksOf({ batch: { row, calls }, lines }: DocumentErrors): vscode.DecorationOptions[] {
  return lines.map(({ error, range }) => {
    const newest = calls.row(error.newest.rollout);
    return {
      range,
      hoverMessage: markText(
        error,
        `${row.name}, ${agoText(Date.now() - row.created_at)}`,
        newest === undefined ? '' : outcomeOf(newest),
      ),
    };
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
