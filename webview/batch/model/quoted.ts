/** Lists of quoted texts in a filter: `"no answer","step limit"`. */

/** Returns the texts in a list of quoted texts; undefined for anything else. */
export function quoted(list: string): string[] | undefined {
  return /^"[^"]*"(?:,"[^"]*")*$/.test(list) ? list.slice(1, -1).split('","') : undefined;
}

/** A quotation mark would end a quoted text. */
export function unquoted(text: string): string {
  return text.replaceAll('"', "'");
}
