/** Parses the stack of an error: frames in the user's files, and the number of other frames. */
import type { Place, TraceError } from '../../../src/trace/schema.ts';

export interface Frame {
  readonly name: string | undefined;
  readonly place: Place;
}

const FRAME = /^\s*at (?:(.+?) \()?(?:file:\/\/)?(.+?):(\d+):(\d+)\)?$/;
/** Tools write their own stacks, and the pattern takes quadratic time. */
const MAX_LINE = 2_000;
/** Frames of Node, libraries, and the runtime around the tool. */
const FOREIGN = /^node:|node_modules|<anonymous>|toolThread\.mjs|\/chunks\//;

/** Returns the frames in the order of the stack, or only the place of the error if the stack has none. */
export function framesOf(error: TraceError): { readonly frames: readonly Frame[]; readonly hidden: number } {
  const frames: Frame[] = [];
  let hidden = 0;
  for (const line of (error.stack ?? '').split('\n')) {
    const match = line.length > MAX_LINE ? null : FRAME.exec(line);
    if (match === null) continue;
    const [, name, file = '', row, column] = match;
    if (FOREIGN.test(file)) hidden += 1;
    else frames.push({ name, place: { file, line: Number(row), column: Number(column) } });
  }
  if (frames.length === 0 && error.place !== undefined) frames.push({ name: undefined, place: error.place });
  return { frames, hidden };
}
