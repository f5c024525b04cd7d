/** Writes a page of labeled lines: labels in a narrow column on the left, wrapped text next to them. */
import { columns, harmlessBlock, harmlessLine, type Paint, painter, type Style, shorten, wrap } from './terminal.ts';

const LABEL = 8;
const GAP = '  ';

export interface PageOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

interface LineOptions {
  /** Lines to show; the rest is omitted. By default, all. */
  readonly maxLines?: number | undefined;
  /** Style of the text. */
  readonly style?: Style | undefined;
  /** Style of the label. */
  readonly labelStyle?: Style | undefined;
  /** A dim remark at the end of the text. */
  readonly note?: string | undefined;
}

export class Page {
  readonly #lines: string[] = [];
  readonly #paint: Paint;
  readonly #width: number;

  constructor({ width, color }: PageOptions) {
    this.#width = Math.max(40, width);
    this.#paint = painter(color);
  }

  /** Writes facts separated by `·`, on several lines if necessary. */
  facts(parts: readonly { readonly text: string; readonly style?: Style | undefined }[]): void {
    let line = '';
    let used = 0;
    for (const { text, style } of parts) {
      const size = columns(text) + (used === 0 ? 0 : 3);
      if (used > 0 && used + size > this.#width) {
        this.#lines.push(line);
        line = '';
        used = 0;
      }
      line += (used === 0 ? '' : this.#paint(' · ', 'dim')) + this.#paint(harmlessLine(text), style);
      used += size;
    }
    this.#lines.push(line);
  }

  /** Writes an empty line, and a rule with a title and facts. Facts that do not fit follow below. */
  heading(title: string, facts: readonly string[] = []): void {
    const head = harmlessLine(title);
    const factsText = facts.length === 0 ? '' : ` ${harmlessLine(facts.join(' · '))} `;
    const inRule = columns(head) + columns(factsText) + 5 <= this.#width;
    const rest = inRule ? factsText : '';
    const fill = Math.max(0, this.#width - columns(head) - columns(rest) - 3);
    this.#lines.push(
      '',
      `${this.#paint(head, 'bold')} ` +
        `${this.#paint('──', 'dim')}${this.#paint(rest, 'dim')}${this.#paint('─'.repeat(fill), 'dim')}`,
    );
    if (!inRule) this.facts(facts.map((text) => ({ text, style: 'dim' })));
  }

  /** Writes a label and its text. */
  line(rawLabel: string, text: string, options: LineOptions = {}): void {
    const label = harmlessLine(rawLabel);
    const room = this.#width - LABEL - GAP.length;
    const wrapped = wrap(harmlessBlock(text).trimEnd(), room);
    const lines = options.maxLines === undefined ? wrapped : shorten(wrapped, options.maxLines);
    const margin = ' '.repeat(Math.max(0, LABEL - columns(label)));
    for (const [index, content] of lines.entries()) {
      const left = index === 0 ? margin + this.#paint(label, options.labelStyle ?? 'dim') : ' '.repeat(LABEL);
      const isOmission = index === lines.length - 1 && lines.length < wrapped.length;
      this.#lines.push((left + GAP + this.#paint(content, isOmission ? 'dim' : options.style)).trimEnd());
    }
    if (options.note !== undefined) this.#note(options.note, columns(lines.at(-1) ?? ''), room);
  }

  #note(note: string, used: number, room: number): void {
    const text = harmlessLine(note);
    if (used + 2 + columns(text) <= room)
      this.#lines.push(`${this.#lines.pop() ?? ''}${GAP}${this.#paint(text, 'dim')}`);
    else for (const line of wrap(text, room)) this.#lines.push(`${' '.repeat(LABEL)}${GAP}${this.#paint(line, 'dim')}`);
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}
