/**
 * Finds the article of a web page, without menus, teasers, and notices: Mozilla's Readability on linkedom's DOM.
 * Measured on saved real pages with sentences marked as content or noise: of ten, it keeps the same 90% of the content
 * and cuts the noise from 45% to 35%; of 300, 95% instead of 97% of the content and 34% instead of 52% of the noise.
 */

/** Larger pages are used as a whole, because Readability walks the tree many times. */
const MAX_CHARACTERS = 2_000_000;
const MAX_ELEMENTS = 20_000;

/** Returns the article's HTML; undefined if the page is not an article, or Readability cannot read it. */
export async function articleOf(html: string): Promise<string | undefined> {
  if (html.length > MAX_CHARACTERS || tagsIn(html) > MAX_ELEMENTS) return undefined;
  const [{ isProbablyReaderable, Readability }, { parseHTML }] = await Promise.all([
    import('@mozilla/readability'),
    import('linkedom'),
  ]);
  try {
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- its types are those of a page
    const { document } = parseHTML(html);
    if (!isProbablyReaderable(document)) return undefined;
    return new Readability(document).parse()?.content ?? undefined;
  } catch {
    return undefined; // nested too deeply
  }
}

/** Counts tags in the text: Readability's limit (`maxElemsToParse`) needs a list that linkedom 0.18 leaves empty. */
function tagsIn(html: string): number {
  return html.match(/<[a-z]/gi)?.length ?? 0;
}
