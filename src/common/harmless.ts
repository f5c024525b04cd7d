/**
 * Makes texts safe to print. Models, tools, tasks, and recordings choose most of what is printed, and a terminal obeys
 * control characters: it writes to the clipboard, and types answers to queries into the shell.
 */

// C0 without tab and line feed, DEL, C1, overrides that change the visible order of text, and lone surrogates.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;
/** What JSON leaves unescaped. */
const JSON_CONTROLS = /[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const COLORS = /(\x1b\[[\d;]{0,16}m)/;

/**
 * Replaces control characters, direction overrides, and lone surrogates with visible characters of the same width.
 * Keeps tabs, line breaks, and all other text.
 */
export function harmless(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROLS, (control) => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
  });
}

/** Like `harmless`, but keeps colors and styles. */
export function harmlessColored(text: string): string {
  return text
    .split(COLORS)
    .map((part, index) => (index % 2 === 1 ? part : harmless(part)))
    .join('');
}

/** Like `harmless`, for a log: continues a message on indented lines, so that it cannot look like other messages. */
export function harmlessEntry(text: string): string {
  return harmless(text).replaceAll('\n', '\n  ');
}

/** Returns a value as JSON in which control characters and direction overrides are escaped. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replace(
    JSON_CONTROLS,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
