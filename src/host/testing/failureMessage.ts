/**
 * Builds the Testing view's message for a failed task: the verdict on its first failed attempt, and links.
 */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { Api } from '../../protocol/api.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { attemptText, type TaskVerdict } from './verdict.ts';

/** The score is near the end of the stream. */
const LAST_EVENTS = 20;
const MAX_OUTPUT_CHARS = 4_000;
const OPEN = ['rollout.openTrajectory', 'rollout.compareAttempts', 'rollout.openBatch'] as const;

export async function failureMessage(
  api: Api,
  batch: string,
  verdict: TaskVerdict,
  item: vscode.TestItem,
): Promise<vscode.TestMessage> {
  const text = new vscode.MarkdownString();
  // Append texts of trajectories only as text, never as Markdown.
  text.isTrusted = { enabledCommands: OPEN };
  text.appendText(verdict.text).appendMarkdown('\n\n');
  const { first } = verdict;
  if (first !== undefined) {
    const output = [attemptText(first), ...(await explanation(api, first.rollout, first.last))].join('\n');
    text.appendCodeblock(output.length > MAX_OUTPUT_CHARS ? `${output.slice(0, MAX_OUTPUT_CHARS)}…` : output, 'text');
    text.appendMarkdown(`\n${link('Open trajectory', OPEN[0], first.rollout)} · `);
    text.appendMarkdown(`${link('Compare attempts', OPEN[1], { rollout: first.rollout })} · `);
  }
  text.appendMarkdown(link('Open batch', OPEN[2], batch));
  const message = new vscode.TestMessage(text);
  if (item.uri !== undefined && item.range !== undefined) message.location = new vscode.Location(item.uri, item.range);
  return message;
}

function link(title: string, command: string, argument: Json): string {
  return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([argument]))})`;
}

async function explanation(api: Api, rollout: string, last: number): Promise<string[]> {
  try {
    const { events } = await api.events(rollout, { after: Math.max(0, last - LAST_EVENTS) });
    return verdictLines(events);
  } catch (error) {
    if (StudioError.is(error)) return []; // still show the verdict
    throw error;
  }
}

function verdictLines(events: readonly TraceEvent[]): string[] {
  const lines: string[] = [];
  for (const { kind, data } of events) {
    if (kind === 'score') {
      if (data.explanation !== undefined) lines.push(`${data.scorer}: ${data.explanation}`);
      if (data.error !== undefined) lines.push(`${data.scorer}: ${data.error.message}`);
    } else if (kind === 'rollout.end' && data.answer !== null) {
      lines.push(`answer: ${typeof data.answer === 'string' ? data.answer : JSON.stringify(data.answer)}`);
    }
  }
  return lines;
}
