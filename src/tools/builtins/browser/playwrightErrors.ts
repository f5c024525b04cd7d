/** What an error of Playwright says to the agent: Playwright writes for developers, with a log of each attempt. */
import { stripVTControlCharacters } from 'node:util';

/** Lines of the log that say why an element could not be used. */
const REASON =
  /intercepts pointer events|is not (visible|enabled|stable|editable)|outside of the viewport|did not find/;

/** Its message without colors and without the name of the method. */
export function plainMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return stripVTControlCharacters(message).replace(/^\w+\.\w+: /, '');
}

/** Its message without the log, but with the reason that the log ends with. */
export function shortMessage(error: unknown): string {
  const [message = '', log = ''] = plainMessage(error).split('\nCall log:\n');
  const reason = log.split('\n').findLast((line) => REASON.test(line));
  const short = message.trim().replace(/\.$/, '');
  return reason === undefined ? short : `${short} (${reason.replace(/^[\s-]*/, '')})`;
}
