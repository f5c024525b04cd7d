/**
 * Marks lines of code that threw in the selected batch. Hovers show how often, the messages, and the newest call.
 */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import { cut } from '../../../trace/toolCalls/text.ts';
import { lineNow, type ThrownLine, thrownLines } from '../../../trace/toolCalls/thrown.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/debuggers.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { setting } from '../../window/settings.ts';
import { isSame } from '../state/definitions.ts';
import { toolFileKind } from '../state/spots.ts';
import type { Figures, ToolFigures } from '../state/toolFigures.ts';
import { appendCall, linked } from './hovers.ts';

const MESSAGES = 3;
const WIDTH = 160;
/** Debounces editor changes. */
const SETTLE_MS = 200;

export class ThrownMarks implements vscode.Disposable {
  readonly #figures: Figures;
  readonly #log: (text: string) => void;
  readonly #type: vscode.TextEditorDecorationType;
  #timer: NodeJS.Timeout | undefined;

  constructor(figures: Figures, icon: vscode.Uri, log: (text: string) => void) {
    this.#figures = figures;
    this.#log = log;
    this.#type = vscode.window.createTextEditorDecorationType({
      gutterIconPath: icon,
      gutterIconSize: 'contain',
      overviewRulerColor: new vscode.ThemeColor('editorError.foreground'),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.look();
  }

  /** Schedules an update of the marks. */
  look(): void {
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
    const around = on ? await this.#figures.around(document.uri.fsPath) : undefined;
    editor.setDecorations(this.#type, around === undefined ? [] : await marksOf(document, around));
  }
}

async function marksOf(
  document: vscode.TextDocument,
  { row, definition, calls }: Pick<ToolFigures, 'row' | 'definition' | 'calls'>,
): Promise<vscode.DecorationOptions[]> {
  if (definition === undefined) return [];
  const named = new Set<string>();
  const isHere = (file: string): boolean => {
    const here = isSame(definition.places.ofFile(file), document.uri.fsPath);
    if (here) named.add(file);
    return here;
  };
  const lines = thrownLines(calls.calls(calls.tools), isHere);
  const [file] = named;
  const before = file === undefined ? undefined : await definition.linesOf(file);
  const now = document.getText().split(/\r?\n/);
  return lines.flatMap((thrown) => {
    // Skip lines that changed since the batch.
    const line = before === undefined ? thrown.line : lineNow(thrown.line, before, now);
    if (line === undefined || line > document.lineCount) return [];
    const text = document.lineAt(line - 1);
    const range = new vscode.Range(
      line - 1,
      text.firstNonWhitespaceCharacterIndex,
      line - 1,
      text.text.trimEnd().length,
    );
    const newest = calls.row(thrown.newest.rollout);
    return [
      {
        range,
        hoverMessage: markText(
          thrown,
          `${row.name}, ${agoText(Date.now() - row.created_at)}`,
          newest === undefined ? '' : outcomeOf(newest),
        ),
      },
    ];
  });
}

function markText({ count, messages, newest }: ThrownLine, batch: string, outcome: string): vscode.MarkdownString {
  const text = linked();
  text.appendText(`Threw ${count === 1 ? 'once' : `${count.toLocaleString('en')} times`} in ${batch}\n`);
  for (const message of messages.slice(0, MESSAGES))
    text.appendCodeblock(`${message.count} × ${cut(message.text, WIDTH)}`, TRAJECTORY_LANGUAGE);
  if (messages.length > MESSAGES) text.appendText(`and ${plural(messages.length - MESSAGES, 'other message')}\n\n`);
  text.appendText('The newest:\n');
  appendCall(text, newest, true, outcome);
  return text;
}
