/** Provides hovers on tool names: statistics, errors, and recent calls. */
import * as vscode from 'vscode';
import { plural } from '../../../common/text.ts';
import { outcomeOf } from '../../../trace/outcome.ts';
import type { CallFact } from '../../../trace/toolCalls/fact.ts';
import { argumentsLine, cut, resultLine, sharesText, statsText } from '../../../trace/toolCalls/text.ts';
import { TRAJECTORY_LANGUAGE } from '../../contributions/names.ts';
import { agoText } from '../../views/batches/batchNodes.ts';
import { LENS_COMMANDS } from '../ids.ts';
import type { BatchStatistics } from '../state/toolStatistics.ts';
import { rangeOf, type ToolLookup } from './lookup.ts';

const CALLS = 5;
const WIDTH = 160;

export async function toolHover(
  lookup: ToolLookup,
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<vscode.Hover | undefined> {
  const at = (await lookup.locations(document)).find((location) => rangeOf(location).contains(position));
  if (at === undefined) return undefined;
  const found = (await lookup.statistics(document)).find(
    ({ location }) => location.line === at.line && location.column === at.column,
  );
  return found === undefined
    ? undefined
    : new vscode.Hover(
        hoverText(found.statistics, { uri: document.uri.toString(), line: at.line, column: at.column }),
        rangeOf(at),
      );
}

function hoverText(
  { row, calls, names }: BatchStatistics,
  at: { readonly uri: string; readonly line: number; readonly column: number },
): vscode.MarkdownString {
  const text = commandMarkdown();
  const stats = calls.stats(names);
  const query = { ...at, batch: row.batch, tools: [...names] };
  text.appendText(
    `${names.size === 1 ? [...names].join('') : plural(names.size, 'tool')} in ${row.name}, ` +
      `${agoText(Date.now() - row.created_at)}\n`,
  );
  text.appendText(`${statsText(stats, undefined, calls.read)}\n${sharesText(calls.shares(names))}\n\n`);
  const classes = Object.entries(stats.byClass);
  if (classes.length > 0)
    text.appendText(`Errors: ${classes.map(([name, count]) => `${name} ${count}`).join(', ')}\n\n`);
  for (const fact of calls.calls(names).slice(0, CALLS)) {
    const attempt = calls.row(fact.rollout);
    appendCall(text, fact, names.size > 1, attempt === undefined ? '' : outcomeOf(attempt));
  }
  text.appendMarkdown(`[Show calls](${commandUri(LENS_COMMANDS.show, query)})`);
  if (stats.errors > 0)
    text.appendMarkdown(` · [Show failed calls](${commandUri(LENS_COMMANDS.show, { ...query, errors: true })})`);
  return text;
}

/** Renders a call with its actions. Recorded texts are in code blocks, never Markdown. */
export function appendCall(text: vscode.MarkdownString, fact: CallFact, withName: boolean, outcome: string): void {
  const call = { rollout: fact.rollout, seq: fact.seq };
  text.appendCodeblock(
    [cut(`${withName ? `${fact.tool} ` : ''}${argumentsLine(fact)}`, WIDTH), cut(resultLine(fact), WIDTH)].join('\n'),
    TRAJECTORY_LANGUAGE,
  );
  const links = [
    `[Open Step](${commandUri(LENS_COMMANDS.open, call)})`,
    `[Re-run](${commandUri(LENS_COMMANDS.rerun, call)})`,
    `[Save as Test Case](${commandUri(LENS_COMMANDS.save, call)})`,
  ];
  text.appendMarkdown(`${outcome === '' ? '' : `${outcome} · `}step ${fact.step} · ${links.join(' · ')}\n\n`);
}

/** Creates a Markdown text whose links can run only the commands of this extension. */
export function commandMarkdown(): vscode.MarkdownString {
  const text = new vscode.MarkdownString('', true);
  text.isTrusted = { enabledCommands: Object.values(LENS_COMMANDS) };
  text.supportHtml = false;
  return text;
}

function commandUri(command: string, argument: unknown): string {
  return vscode.Uri.from({ scheme: 'command', path: command, query: JSON.stringify([argument]) }).toString();
}
