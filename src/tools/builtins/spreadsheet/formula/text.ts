/** Converts between texts and numbers as sheets do. */
import { FormulaError } from './tokens.ts';

/** Days from the sheet epoch to the JavaScript epoch. */
const EPOCH_DAYS = 25_569;
const DAY_SECONDS = 86_400;
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** Parses a number, date, or time to a number; undefined if the text is none of these. */
export function numberOf(text: string): number | undefined {
  const trimmed = text.trim();
  const plain = /^([+-]?)\$?(\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(\.\d*)?(e[+-]?\d+)?\s*(%?)$/i.exec(trimmed);
  if (plain !== null) {
    const [, sign = '', whole = '', fraction = '', exponent = '', percent = ''] = plain;
    const number = Number(`${sign}${whole.replaceAll(',', '')}${fraction}${exponent}`);
    return Number.isNaN(number) ? undefined : percent === '' ? number : number / 100;
  }
  const [date = '', time] = /^\d+:/.test(trimmed) ? ['', trimmed] : trimmed.split(/[T ]+(?=\d+:)/);
  const day = date === '' ? 0 : dayOf(date);
  const part = time === undefined ? 0 : timeOf(time);
  return day === undefined || part === undefined || trimmed === '' ? undefined : day + part;
}

function dayOf(text: string): number | undefined {
  const iso = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(text);
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text);
  const [year, month, day] =
    iso !== null ? iso.slice(1) : american !== null ? [american[3], american[1], american[2]] : [];
  if (year === undefined) return undefined;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
    ? date.getTime() / 1000 / DAY_SECONDS + EPOCH_DAYS
    : undefined;
}

function timeOf(text: string): number | undefined {
  const match = /^(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?$/i.exec(text.trim());
  if (match === null) return undefined;
  const [, hours = '', minutes = '', seconds = '0', half] = match;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  return (hour * 3600 + Number(minutes) * 60 + Number(seconds)) / DAY_SECONDS;
}

/** Formats a number with the 15 digits that sheets use. */
export function numberText(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** Formats a value as `TEXT` does; undefined for invalid dates. Throws FormulaError for unsupported formats. */
export function formatted(value: number | string, format: string): string | undefined {
  const sections = sectionsOf(format);
  if (typeof value === 'string') return (sections[3] ?? (format.includes('@') ? format : '@')).replaceAll('@', value);
  const [positive = '', negative, zero] = sections;
  const section = value < 0 && negative !== undefined ? negative : value === 0 && zero !== undefined ? zero : positive;
  const isNegativeSection = section !== positive && value < 0; // the section includes the sign
  if (/^general$/i.test(section.trim())) return numberText(value);
  const pattern = section.replace(/"[^"]*"|\\./g, '');
  if (/\[(?!(?:h+|m+|s+)\])|[?*_@]|\d*\/\d*[?#0]|[?#0]\s*\//i.test(pattern))
    throw new FormulaError(`TEXT does not support the format "${format}".`);
  if (/[ymdhs]/i.test(pattern)) return value < 0 ? undefined : dateText(value, section);
  return `${value < 0 && !isNegativeSection ? '-' : ''}${digitsText(Math.abs(value), section)}`;
}

function sectionsOf(format: string): string[] {
  return (format.match(/(?:"[^"]*"|\\.|[^;"\\])+|(?<=;|^)(?=;|$)/g) ?? ['']).map(String);
}

const DATE_PART = /"[^"]*"|\\.|\[(?:h+|m+|s+)\]|am\/pm|a\/p|y+|m+|d+|h+|s+(?:\.0+)?|./gi;

function dateText(value: number, format: string): string {
  const parts = format.match(DATE_PART) ?? [];
  const halves = parts.some((part) => /^a(m\/pm|\/p)$/i.test(part));
  const seconds = Math.round(value * DAY_SECONDS);
  const date = new Date((seconds - EPOCH_DAYS * DAY_SECONDS) * 1000);
  const isPart = (part: string): boolean => /^[[ymdhs]/i.test(part);
  return parts
    .map((part, index) => {
      const minutes =
        /^m{1,2}$/i.test(part) &&
        (/^\[?h/i.test(parts.slice(0, index).findLast(isPart) ?? '') ||
          /^\[?s/i.test(parts.slice(index + 1).find(isPart) ?? ''));
      return datePart(part, date, seconds, halves, minutes);
    })
    .join('');
}

function datePart(part: string, date: Date, seconds: number, halves: boolean, minutes: boolean): string {
  const padded = (number: number): string => String(number).padStart(Math.min(part.length, 2), '0');
  const lower = part.toLowerCase();
  if (part.startsWith('"')) return part.slice(1, -1);
  if (part.startsWith('\\')) return part.slice(1);
  if (part.startsWith('[')) {
    const unit = lower[1] === 'h' ? 3600 : lower[1] === 'm' ? 60 : 1;
    return String(Math.floor(seconds / unit)).padStart(part.length - 2, '0');
  }
  if (/^a(m\/pm|\/p)$/.test(lower)) {
    const half = date.getUTCHours() < 12 ? 'AM' : 'PM';
    return lower === 'a/p' ? half.slice(0, 1) : half;
  }
  switch (lower[0]) {
    case 'y':
      return part.length <= 2 ? String(date.getUTCFullYear()).slice(-2) : String(date.getUTCFullYear());
    case 'm': {
      if (minutes) return padded(date.getUTCMinutes());
      const name = MONTHS[date.getUTCMonth()] ?? '';
      if (part.length === 5) return name.slice(0, 1);
      return part.length > 3 ? name : part.length === 3 ? name.slice(0, 3) : padded(date.getUTCMonth() + 1);
    }
    case 'd': {
      const name = DAYS[date.getUTCDay()] ?? '';
      return part.length > 3 ? name : part.length === 3 ? name.slice(0, 3) : padded(date.getUTCDate());
    }
    case 'h':
      return padded(halves ? date.getUTCHours() % 12 || 12 : date.getUTCHours());
    case 's': {
      const [whole = '', fraction = ''] = part.split('.');
      const text = String(date.getUTCSeconds()).padStart(Math.min(whole.length, 2), '0');
      return fraction === '' ? text : `${text}.${'0'.repeat(fraction.length)}`;
    }
    default:
      return part;
  }
}

/** Rounds decimal halves up: `1.005` to two digits is 1.01. */
function rounded(value: number, digits: number): string {
  const text = numberText(value);
  const shifted = text.includes('e') ? value * 10 ** digits : Number(`${text}e${digits}`);
  return (Math.round(shifted) / 10 ** digits).toFixed(digits);
}

function digitsText(value: number, format: string): string {
  const parts: readonly string[] = format.match(/"[^"]*"|\\.|e[+-]0+|./gi) ?? [];
  const isDigit = (part: string): boolean => part === '0' || part === '#';
  const literal = (part: string): string =>
    part.startsWith('"') ? part.slice(1, -1) : part.startsWith('\\') ? part.slice(1) : part;
  const last = parts.findLastIndex(isDigit);
  if (last === -1) return parts.map(literal).join('');
  const point = parts.indexOf('.');
  const first = parts.findIndex(isDigit);
  const whole = point === -1 || point > last + 1 ? last : point;
  const decimals = point === -1 ? 0 : parts.slice(point).filter(isDigit).length;
  const grouped = parts.slice(first, whole).includes(',');
  const scale = parts.slice(last + 1).findIndex((part) => part !== ',');
  const thousands = scale === -1 ? parts.length - last - 1 : scale;
  const percents = parts.filter((part) => part === '%').length;
  const exponent = parts.find((part) => /^e/i.test(part));
  let number = value * 100 ** percents;
  for (let i = 0; i < thousands; i++) number /= 1000;
  let power = 0;
  if (exponent !== undefined && number !== 0) {
    power = Math.floor(Math.log10(number));
    if (Number(rounded(number / 10 ** power, decimals)) >= 10) power += 1;
    number /= 10 ** power;
  }
  const [before = '', after = ''] = rounded(number, decimals).split('.');
  let digits = before === '0' ? '' : before;
  let fraction = 0;
  let used = 0;
  const output: string[] = [];
  // Formats the integer part from the right; the first placeholder takes all remaining digits.
  for (let index = whole; index >= 0; index--) {
    const part = parts[index] ?? '';
    if (part === '.' || (part === ',' && index > first)) continue;
    if (!isDigit(part)) {
      output.unshift(literal(part));
      continue;
    }
    const count = index === first ? Math.max(digits.length, part === '0' ? 1 : 0) : 1;
    for (let i = 0; i < count; i++) {
      const digit = digits.slice(-1) || (part === '0' ? '0' : '');
      digits = digits.slice(0, -1);
      if (digit === '') continue;
      if (grouped && used > 0 && used % 3 === 0) output.unshift(',');
      output.unshift(digit);
      used += 1;
    }
  }
  for (let index = whole + (point === whole ? 0 : 1); index < parts.length; index++) {
    const part = parts[index] ?? '';
    if (index === point) output.push('.');
    else if (index <= last && isDigit(part)) {
      const rest = after.slice(fraction).replace(/0+$/, '');
      if (part === '0' || rest !== '') output.push(after[fraction] ?? '0');
      fraction += 1;
    } else if (part === exponent) {
      const places = part.length - 2;
      output.push(part.slice(0, 1), power < 0 ? '-' : part[1] === '+' ? '+' : '');
      output.push(String(Math.abs(power)).padStart(places, '0'));
    } else if (part !== ',') output.push(literal(part));
  }
  return output.join('');
}
