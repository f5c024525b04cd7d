import { SourceMap } from 'node:module';
import { z } from 'zod';
import type { Place } from '../../trace/schema.ts';

/** Name of libraries in the source map of a bundle; their frames are removed from user stacks. */
export const LIBRARY = '~library';

const payload = z.object({
  version: z.literal(3),
  sources: z.array(z.string()),
  names: z.array(z.string()).default([]),
  mappings: z.string(),
});

/** A stack with only the frames of user code, mapped to the user's files. */
interface UserStack {
  /** The message and one line per frame. */
  readonly text: string;
  /** Where it was thrown; undefined if there is no frame in user code. */
  readonly place: Place | undefined;
}

/** Maps positions in a bundle to the user's source. The source map is parsed on first use. */
export class StackMapper {
  readonly #map: Uint8Array;
  readonly #frame: RegExp;
  readonly #places = new Map<string, Place | undefined>();
  #parsed: SourceMap | undefined;

  /** `url`: URL from which the thread loads the bundle. */
  constructor(map: Uint8Array, url: string) {
    this.#map = map;
    const escaped = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    this.#frame = new RegExp(`^\\s*at (?:(.*?) \\()?${escaped}:(\\d+):(\\d+)\\)?$`);
  }

  /** Maps a V8 stack: the message, followed by lines `at name (url:line:column)`. */
  userStack(message: string, stack: string | undefined): UserStack {
    const lines: string[] = [];
    let place: Place | undefined;
    for (const line of stack?.split('\n') ?? []) {
      const frame = this.#frame.exec(line);
      if (frame === null) continue;
      const found = this.#find(Number(frame[2]), Number(frame[3]));
      if (found === undefined) continue;
      place ??= found;
      const at = `${found.file}:${found.line}:${found.column}`;
      lines.push(frame[1] === undefined ? `    at ${at}` : `    at ${frame[1]} (${at})`);
    }
    return { text: [message, ...lines].join('\n'), place };
  }

  /** Returns the place of the topmost frame in user code. Cached by stack. */
  place(stack: string): Place | undefined {
    if (this.#places.has(stack)) return this.#places.get(stack);
    const { place } = this.userStack('', stack);
    this.#places.set(stack, place);
    return place;
  }

  /** Maps a position in the bundle (1-based); undefined in libraries and generated code. */
  #find(line: number, column: number): Place | undefined {
    this.#parsed ??= new SourceMap(parseMap(this.#map));
    const entry = this.#parsed.findEntry(line - 1, column - 1);
    // Generated code has entries without a source, contrary to Node's types.
    const file = 'originalSource' in entry ? (entry.originalSource as string | undefined) : undefined;
    if (file === undefined || !('originalLine' in entry)) return undefined;
    if (file === LIBRARY || file.endsWith(`/${LIBRARY}`)) return undefined;
    return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
  }
}

function parseMap(map: Uint8Array): ConstructorParameters<typeof SourceMap>[0] {
  const parsed = payload.parse(JSON.parse(Buffer.from(map).toString()));
  // Node's type requires members that it does not use.
  return { ...parsed, file: '', sourcesContent: [], sourceRoot: '' };
}
