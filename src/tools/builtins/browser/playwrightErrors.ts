/** Shortens Playwright's errors for agents: they are written for developers, with a log of each attempt. */
import { stripVTControlCharacters } from 'node:util';

/** Matches the lines of the log that say why an element could not be used. */
const REASON =
  /intercepts pointer events|is not (visible|enabled|stable|editable)|outside of the viewport|did not find/;

/** Returns the message without colors and without the name of the method. */
export function plainMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return stripVTControlCharacters(message).replace(/^\w+\.\w+: /, '');
}

/** Returns the message without the log, but with the last reason in it. */
export function shortMessage(error: unknown): string {
  const [message = '', log = ''] = plainMessage(error).split('\nCall log:\n');
  const reason = log.split('\n').findLast((line) => REASON.test(line));
  const short = message.trim().replace(/\.$/, '');
  return reason === undefined ? short : `${short} (${reason.replace(/^[\s-]*/, '')})`;
}
