/** Encodings of a secret, as programs write them. */

/** Returns the secret in every encoding that redaction undoes. Each text contains nothing else. */
export function encodingsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const each = (change: (character: string, index: number) => string): string =>
    Array.from(secret)
      .map((character, index) => change(character, index))
      .join('');
  const percent = (text: string): string =>
    Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const unicode = (text: string): string =>
    Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  return {
    plain: secret,
    json,
    'json in json': JSON.stringify(json).slice(1, -1),
    'json, ASCII only': each((one) => (one > '~' ? unicode(one) : JSON.stringify(one).slice(1, -1))),
    'unicode escapes': unicode(secret),
    base64: bytes.toString('base64'),
    'base64 without padding': bytes.toString('base64').replaceAll('=', ''),
    base64url: bytes.toString('base64url'),
    'base64url with padding': bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_'),
    'base64 in percent': encodeURIComponent(bytes.toString('base64')),
    hex: bytes.toString('hex'),
    'upper hex': bytes.toString('hex').toUpperCase(),
    percent: encodeURIComponent(secret),
    'lower percent': encodeURIComponent(secret).replaceAll(/%../g, (escape) => escape.toLowerCase()),
    'percent, every character': percent(secret),
    'percent, in part': each((one, index) => (index % 3 === 1 ? percent(one) : one.replace('%', '%25'))),
    'percent, twice': encodeURIComponent(encodeURIComponent(secret)),
    form: new URLSearchParams({ a: secret }).toString().slice(2),
    html: each((one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[one] ?? one),
    'escaped bytes': Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  };
}
