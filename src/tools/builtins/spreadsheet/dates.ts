/** Dates in sheets are numbers of days; only the format of the cell identifies them as dates. */
import { attribute, childrenOf, type Document, elementsOf } from '../office/xml.ts';

/** Built-in date and time formats, including East Asian ones. */
const BUILTIN_FORMATS = new Set([
  14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46, 47, 50, 51, 52, 53, 54, 55, 56,
  57, 58,
]);
const DAY_MS = 86_400_000;
const EPOCH_DAYS = 25_569;
/** Offset in days of the 1904 date system of early Macs. */
const OFFSET_1904_DAYS = 1462;

export class DateFormats {
  readonly #styles: readonly boolean[];
  readonly #uses1904: boolean;

  constructor(styles: Document | undefined, uses1904: boolean) {
    this.#uses1904 = uses1904;
    const own = new Map<number, boolean>();
    for (const format of elementsOf(styles, 'numFmt'))
      own.set(Number(attribute(format, 'numFmtId')), isDateFormat(attribute(format, 'formatCode') ?? ''));
    const [cells] = elementsOf(styles, 'cellXfs');
    this.#styles = childrenOf(cells, 'xf').map((style) => {
      const id = Number(attribute(style, 'numFmtId') ?? 0);
      return own.get(id) ?? BUILTIN_FORMATS.has(id);
    });
  }

  /** Returns `2024-01-31`, `2024-01-31 08:30:00`, or `08:30:00` if the style of the cell is a date format. */
  text(value: number, style: number): string | undefined {
    if (this.#styles[style] !== true) return undefined;
    const days = value + (this.#uses1904 ? OFFSET_1904_DAYS : 0);
    const date = new Date(Math.round((days - EPOCH_DAYS) * 86_400) * 1000);
    if (Number.isNaN(date.getTime()) || days < 0) return undefined;
    const [day = '', time = ''] = date.toISOString().slice(0, 19).split('T');
    if (days < 1) return time;
    return date.getTime() % DAY_MS === 0 ? day : `${day} ${time}`;
  }
}

/** Returns whether a format contains date parts outside quotes and brackets. */
function isDateFormat(code: string): boolean {
  return /[ymdhs]/i.test(code.replace(/"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|_.|General/gi, ''));
}
