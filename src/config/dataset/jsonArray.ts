import { parseRecord, type RawRecord, RECORD_LIMIT, TOO_LONG } from './record.ts';
import { textChunks } from './text.ts';

const IN_STRING = /["\\]/g;
const BETWEEN = /["[\]{},]/g;

/**
 * Splits a JSON array into its elements, holding only one in memory: the splitter looks only at quotes and brackets,
 * and each element is parsed separately, so a broken one does not affect those after it. `limit`: longest element, in
 * UTF-16 units. Throws NotUtf8.
 */
export async function* jsonArrayRecords(
  bytes: AsyncIterable<Uint8Array>,
  limit = RECORD_LIMIT,
): AsyncGenerator<RawRecord> {
  const splitter = new ArraySplitter(limit);
  for await (const chunk of textChunks(bytes)) yield* splitter.push(chunk);
  yield* splitter.end();
}

class ArraySplitter {
  readonly #limit: number;
  /** 0: before or after the array; 1: between its elements. */
  #depth = 0;
  #inString = false;
  /** The last chunk ended with a backslash, which escapes the next character. */
  #escaped = false;
  #state: 'before' | 'inside' | 'behind' | 'broken' = 'before';
  #line = 1;
  /** Column of the next character. */
  #column = 1;
  #held: string[] = [];
  #length = 0;
  #blank = true;
  #from = { line: 1, column: 1 };
  #number = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  *push(chunk: string): Generator<RawRecord> {
    let at = 0;
    while (at < chunk.length && this.#state !== 'broken') {
      if (this.#state === 'inside') {
        at = yield* this.#elements(chunk, at);
      } else {
        yield* this.#outside(chunk.charAt(at));
        at++;
      }
    }
  }

  /**
   * Reads from `start`, in or between elements, to the end of the array or the chunk, and returns the position reached.
   */
  *#elements(chunk: string, start: number): Generator<RawRecord, number> {
    let from = start; // start of the text not yet taken
    let at = start;
    if (this.#escaped) {
      this.#escaped = false;
      at++;
    }
    for (;;) {
      const interesting = this.#inString ? IN_STRING : BETWEEN;
      interesting.lastIndex = at;
      const stop = interesting.exec(chunk)?.index;
      if (stop === undefined) break;
      at = stop + 1;
      switch (chunk.charAt(stop)) {
        case '\\':
          this.#escaped = at === chunk.length;
          at++;
          break;
        case '"':
          this.#inString = !this.#inString;
          break;
        case '{':
        case '[':
          this.#depth++;
          break;
        default: {
          const comma = chunk.charAt(stop) === ',';
          if (!comma) this.#depth--;
          if (this.#depth > (comma ? 1 : 0)) break;
          this.#take(chunk.slice(from, stop));
          from = at;
          if (comma || !this.#blank) yield this.#element();
          this.#column++;
          if (comma) break;
          this.#state = 'behind';
          return at;
        }
      }
    }
    this.#take(chunk.slice(from));
    return chunk.length;
  }

  *end(): Generator<RawRecord> {
    if (this.#state === 'before') {
      yield this.#broken('the file is empty', 'Write a JSON array of objects: [ {…}, {…} ].');
    } else if (this.#state === 'inside') {
      yield this.#broken(
        'the file ends before the array is closed',
        'Check whether the file is truncated, and close all strings, objects, and the array.',
      );
    }
  }

  *#outside(character: string): Generator<RawRecord> {
    this.#advance(character);
    if (character.trim() === '') return;
    if (this.#state === 'before' && character === '[') {
      this.#state = 'inside';
      this.#depth = 1;
      return;
    }
    this.#column--;
    yield this.#state === 'before'
      ? this.#broken(
          'a JSON dataset must be an array of objects, but this file does not start with [',
          character === '{'
            ? 'Put [ ] around the objects. If each line is an object, rename the file to .jsonl (JSON Lines).'
            : 'Write [ {…}, {…} ].',
        )
      : this.#broken('text follows the end of the array', 'Remove the text after the closing ].');
  }

  #element(): RawRecord {
    const at = { ...this.#from, number: ++this.#number };
    const record = this.#blank
      ? {
          line: this.#line,
          column: this.#column,
          number: at.number,
          error: { message: 'an element is missing before this comma', hint: 'Remove the comma.' },
        }
      : this.#length > this.#limit
        ? { ...at, error: TOO_LONG }
        : parseRecord(this.#held.join(''), at);
    this.#held = [];
    this.#length = 0;
    this.#blank = true;
    return record;
  }

  #take(piece: string): void {
    let kept = piece;
    if (this.#blank) {
      kept = piece.trimStart();
      this.#advance(piece.slice(0, piece.length - kept.length));
      if (kept === '') return;
      this.#blank = false;
      this.#from = { line: this.#line, column: this.#column };
    }
    this.#length += kept.length;
    if (this.#length > this.#limit) this.#held = [];
    else this.#held.push(kept);
    this.#advance(kept);
  }

  #advance(text: string): void {
    const last = text.lastIndexOf('\n');
    if (last === -1) {
      this.#column += text.length;
    } else {
      this.#line += text.split('\n').length - 1;
      this.#column = text.length - last;
    }
  }

  #broken(message: string, hint: string): RawRecord {
    this.#state = 'broken';
    return { line: this.#line, column: this.#column, number: this.#number + 1, error: { message, hint } };
  }
}
