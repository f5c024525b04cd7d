const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/** Returns the URL of a link that may be opened, or undefined: others run code, open programs, or read files. */
export function webLink(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && SCHEMES.has(url.protocol) ? url : undefined;
}
