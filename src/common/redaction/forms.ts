/** The forms in which a secret may appear in a text. Percent-encoding and escapes are undone before (unescape.ts). */

export interface Form {
  readonly text: string;
  /** Number of characters before and after it that also encode a part of the secret. */
  readonly before: number;
  readonly after: number;
}

/** Encodings of a shorter secret would also match by accident. */
const MIN_ENCODED = 6;

/**
 * Returns the forms of a secret: itself, with `+` for spaces, as UTF-16, as the bytes of its UTF-8, in hexadecimal of
 * both cases, and in base64 with both alphabets, wherever it starts within a group of three bytes.
 */
export function formsOf(secret: string): Form[] {
  const bytes = new TextEncoder().encode(secret);
  const plain = [secret, secret.replaceAll(' ', '+'), binaryOf(bytes)];
  if (secret.length < MIN_ENCODED) return distinct(plain.map(whole));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return distinct([
    ...[...plain, Array.from(secret).join('\0'), hex, hex.toUpperCase()].map(whole),
    ...[0, 1, 2].flatMap((shift) => {
      const form = base64Of(bytes, shift);
      return [form, { ...form, text: form.text.replaceAll('+', '-').replaceAll('/', '_') }];
    }),
  ]);
}

function whole(text: string): Form {
  return { text, before: 0, after: 0 };
}

/**
 * Returns the base64 of bytes that follow `shift` other bytes, without the characters at its ends that also depend on
 * its neighbors.
 */
function base64Of(bytes: Uint8Array, shift: number): Form {
  const all = btoa('\0'.repeat(shift) + binaryOf(bytes)).replace(/=+$/, '');
  const before = shift === 0 ? 0 : 1;
  const after = (bytes.length + shift) % 3 === 0 ? 0 : 1;
  return { text: all.slice(shift + before, all.length - after), before, after };
}

/** Returns a string with one character per byte. */
function binaryOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

function distinct(forms: readonly Form[]): Form[] {
  return [...new Map(forms.map((form) => [form.text, form])).values()];
}
