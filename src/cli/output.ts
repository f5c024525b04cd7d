/** The one place that prints: only this file writes to stdout and stderr, and it makes every text harmless. */
import { once } from 'node:events';
import { harmless, harmlessColored, harmlessJson } from '../common/harmless.ts';

const REDRAW = '\r\x1b[2K';

/** Writes a line, or a file such as CSV with its line breaks, to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text.split('\r\n').map(harmless).join('\r\n')}\n`);
}

/** Writes a line to stdout that has colors. Whoever colors text makes it harmless first. */
export function printColored(text: string): void {
  process.stdout.write(`${harmlessColored(text)}\n`);
}

/** Like `printColored`, for blocks of lines that are not held in memory. */
export async function printColoredBlocks(blocks: AsyncIterable<{ readonly text: string }>): Promise<void> {
  for await (const { text } of blocks) await written(harmlessColored(text));
}

/** Writes one JSON document to stdout, on one line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${harmlessJson(value)}\n`);
}

/** Like `printJson`, for an object with fields whose last member is a list that is not held in memory. */
export async function printJsonList(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  items: AsyncIterable<unknown>,
): Promise<void> {
  await written(`${harmlessJson(fields).slice(0, -1)},${harmlessJson(name)}:[`);
  let comma = '';
  for await (const item of items) {
    await written(`${comma}${harmlessJson(item)}`);
    comma = ',';
  }
  await written(']}\n');
}

/** Waits while the reader of stdout is slow. */
async function written(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Writes a line to stderr. */
export function log(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** Replaces the last line of a terminal on stderr, without a line break. */
export function redraw(line: string): void {
  process.stderr.write(`${REDRAW}${harmless(line)}`);
}
