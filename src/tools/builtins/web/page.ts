import { ClassedError } from '../../../trace/classedError.ts';
import type { Download } from './download.ts';

/**
 * Minimum share of the page's text that an article must have to be used: Readability mistakes lists and tables that are
 * the content for noise.
 */
const MIN_ARTICLE_SHARE = 0.5;

/** Returns the text of a page. Throws ClassedError `tool_error` for binary content. */
export async function pageText({ url, media, charset, bytes }: Download, signal: AbortSignal): Promise<string> {
  if (media === 'application/pdf') {
    const { pdfText } = await import('../documents/pdf.ts');
    const document = await pdfText(bytes, { first: 1, last: Infinity }, signal);
    return document.kind === 'text'
      ? document.text
      : document.pages.map(({ number, text }) => `--- page ${number} of ${document.total} ---\n${text}`).join('\n\n');
  }
  if (media !== '' && !/^text\/|json|xml|javascript/.test(media))
    throw new ClassedError('tool_error', `${url.href} is not text but ${media} (${bytes.length} bytes).`);
  const text = decoded(bytes, charset);
  if (!media.includes('html') && !/^\s*<(!doctype html|html)/i.test(text)) return text;
  const [{ readable }, { articleOf }] = await Promise.all([import('./readable.ts'), import('./article.ts')]);
  const page = readable(text, url);
  const article = await articleOf(text);
  const articleText = article === undefined ? '' : readable(article, url).text;
  const content = articleText.length >= page.text.length * MIN_ARTICLE_SHARE ? articleText : page.text;
  const title = page.title === undefined ? '' : `${page.title}\n`;
  return `${title}${url.href}\n\n${content === '' ? '[The page has no text. It may need a browser.]' : content}`;
}

/** Decodes with the charset from the server or the page. */
function decoded(bytes: Buffer, charset: string | undefined): string {
  const encoding =
    charset ?? /<meta[^>]+charset=["']?([\w-]+)/i.exec(bytes.subarray(0, 2048).toString('latin1'))?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    return bytes.toString('utf8'); // unknown charset
  }
}
