/** Keys of a keyboard as Chromium is told of them. Pure. */
import type { JsonObject } from '../../../common/json.ts';

const NAMED: Readonly<Record<string, { readonly code: string; readonly number: number; readonly text?: string }>> = {
  Enter: { code: 'Enter', number: 13, text: '\r' },
  Tab: { code: 'Tab', number: 9 },
  Escape: { code: 'Escape', number: 27 },
  Backspace: { code: 'Backspace', number: 8 },
  Delete: { code: 'Delete', number: 46 },
  Insert: { code: 'Insert', number: 45 },
  ArrowLeft: { code: 'ArrowLeft', number: 37 },
  ArrowUp: { code: 'ArrowUp', number: 38 },
  ArrowRight: { code: 'ArrowRight', number: 39 },
  ArrowDown: { code: 'ArrowDown', number: 40 },
  Home: { code: 'Home', number: 36 },
  End: { code: 'End', number: 35 },
  PageUp: { code: 'PageUp', number: 33 },
  PageDown: { code: 'PageDown', number: 34 },
  Space: { code: 'Space', number: 32, text: ' ' },
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`F${index + 1}`, { code: `F${index + 1}`, number: 112 + index }]),
  ),
};
/** Bits of the protocol. */
const MODIFIERS: Readonly<Record<string, number>> = { Alt: 1, Control: 2, Ctrl: 2, Meta: 4, Shift: 8 };

/** What pressing and releasing `Enter`, `a` or `Control+a` is; undefined when there is no such key. */
export function keyEvents(written: string): JsonObject[] | undefined {
  const parts =
    written === '+' ? ['+'] : written.endsWith('++') ? [...written.slice(0, -2).split('+'), '+'] : written.split('+');
  const key = parts.pop() ?? '';
  if (parts.some((part) => MODIFIERS[part] === undefined)) return undefined;
  const modifiers = parts.reduce((bits, part) => bits | (MODIFIERS[part] ?? 0), 0);
  const known = NAMED[key];
  if (known === undefined && !/^.$/u.test(key)) return undefined;
  const upper = key.toUpperCase();
  const { code, number, text } = known ?? {
    code: /^[A-Z]$/.test(upper) ? `Key${upper}` : /^\d$/.test(key) ? `Digit${key}` : '',
    number: /^[A-Z0-9]$/.test(upper) ? upper.charCodeAt(0) : 0,
    text: key,
  };
  // With Control, Alt or Meta a key writes nothing.
  const writes = (modifiers & ~8) === 0 ? text : undefined;
  const event = { key: key === 'Space' ? ' ' : key, code, windowsVirtualKeyCode: number, modifiers };
  return [
    {
      type: writes === undefined ? 'rawKeyDown' : 'keyDown',
      ...event,
      ...(writes === undefined ? {} : { text: writes }),
      ...(upper === 'A' && (modifiers & 6) !== 0 ? { commands: ['selectAll'] } : {}),
    },
    { type: 'keyUp', ...event },
  ];
}
