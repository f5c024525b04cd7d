/** Dates in sheets are numbers of days; only the format of a cell tells that it is one. */
import { attribute, childrenOf, type Document, elementsOf } from '../office/xml.ts';

/** Formats that every workbook has: dates, times, and those of East Asia. */
const KNOWN = new Set([
  14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46, 47, 50, 51, 52, 53, 54, 55, 56,
  57, 58,
]);
const DAY_MS = 86_400_000;
const EPOCH_DAYS = 25_569;
/** Days that the calendar of old Macintoshes begins later. */
const LATER_DAYS = 1462;

export class DateFormats {
  readonly #styles: readonly boolean[];
  readonly #later: boolean;

  constructor(styles: Document | undefined, later: boolean) {
    this.#later = later;
    const own = new Map<number, boolean>();
    for (const format of elementsOf(styles, 'numFmt'))
      own.set(Number(attribute(format, 'numFmtId')), isDateFormat(attribute(format, 'formatCode') ?? ''));
    const [cells] = elementsOf(styles, 'cellXfs');
    this.#styles = childrenOf(cells, 'xf').map((style) => {
      const id = Number(attribute(style, 'numFmtId') ?? 0);
      return own.get(id) ?? KNOWN.has(id);
    });
  }

  /** `2024-01-31`, `2024-01-31 08:30:00` or `08:30:00`, when cells of this style show dates. */
  text(value: number, style: number): string | undefined {
    if (this.#styles[style] !== true) return undefined;
    const days = value + (this.#later ? LATER_DAYS : 0);
    const date = new Date(Math.round((days - EPOCH_DAYS) * 86_400) * 1000);
    if (Number.isNaN(date.getTime()) || days < 0) return undefined;
    const [day = '', time = ''] = date.toISOString().slice(0, 19).split('T');
    if (days < 1) return time;
    return date.getTime() % DAY_MS === 0 ? day : `${day} ${time}`;
  }
}

/** Whether it has a part of a date outside of quotes and brackets. */
function isDateFormat(code: string): boolean {
  return /[ymdhs]/i.test(code.replace(/"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|_.|General/gi, ''));
}
