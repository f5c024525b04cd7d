import { harmless } from '../../common/harmless.ts';

/** Returns a message as it is written to the output of a test run, which is a terminal. */
export function outputText(text: string): string {
  return `${harmless(text).replaceAll('\n', '\r\n')}\r\n`;
}
