import { SourceMap } from 'node:module';
import { z } from 'zod';
import type { Place } from '../../trace/schema.ts';

/** What libraries are called in a bundle's map: their code is one line of it, and no frame of a user's stack. */
export const LIBRARY = '~library';

const payload = z.object({
  version: z.literal(3),
  sources: z.array(z.string()),
  names: z.array(z.string()).default([]),
  mappings: z.string(),
});

/** A stack with only the user's frames, in the user's own files. */
export interface UserStack {
  /** The message line and one line per frame. */
  readonly text: string;
  /** Where it was thrown; undefined when no frame is the user's. */
  readonly place: Place | undefined;
}

/** Finds the user's source behind positions in a bundle. The map is read at its first use. */
export class StackMapper {
  readonly #map: Uint8Array;
  readonly #frame: RegExp;
  readonly #known = new Map<string, Place | undefined>();
  #parsed: SourceMap | undefined;

  /** `url`: of the bundle as its thread loads it. */
  constructor(map: Uint8Array, url: string) {
    this.#map = map;
    const escaped = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    this.#frame = new RegExp(`^\\s*at (?:(.*?) \\()?${escaped}:(\\d+):(\\d+)\\)?$`);
  }

  /** `stack` is that of V8: the message, then lines `at name (url:line:column)`. */
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

  /** The place of the topmost user frame. Remembered by the text of the stack. */
  place(stack: string): Place | undefined {
    if (this.#known.has(stack)) return this.#known.get(stack);
    const { place } = this.userStack('', stack);
    this.#known.set(stack, place);
    return place;
  }

  /** A position of the bundle (1-based) in the user's file; undefined in libraries and in what the bundler wrote. */
  #find(line: number, column: number): Place | undefined {
    this.#parsed ??= new SourceMap(parseMap(this.#map));
    const entry = this.#parsed.findEntry(line - 1, column - 1);
    // Code that the bundler wrote has an entry without a source, whatever Node's types say.
    const file = 'originalSource' in entry ? (entry.originalSource as string | undefined) : undefined;
    if (file === undefined || !('originalLine' in entry)) return undefined;
    if (file === LIBRARY || file.endsWith(`/${LIBRARY}`)) return undefined;
    return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
  }
}

function parseMap(map: Uint8Array): ConstructorParameters<typeof SourceMap>[0] {
  const parsed = payload.parse(JSON.parse(Buffer.from(map).toString()));
  // Node's type asks for members it does not use.
  return { ...parsed, file: '', sourcesContent: [], sourceRoot: '' };
}
