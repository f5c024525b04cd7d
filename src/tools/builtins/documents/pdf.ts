import { getDocumentProxy } from 'unpdf';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import type { DocumentText, Page } from './tools.ts';

/** Extracts the text of a PDF by page. Throws ClassedError `tool_error`. */
export async function pdfText(
  bytes: Uint8Array,
  range: { readonly first: number; readonly last: number },
  signal: AbortSignal,
): Promise<DocumentText> {
  const document = await opened(bytes);
  try {
    const pages: Page[] = [];
    for (let number = range.first; number <= Math.min(range.last, document.numPages); number++) {
      if (signal.aborted) throw abortedError(signal);
      const page = await readable(document.getPage(number));
      const { items } = await readable(page.getTextContent());
      // A line consists of several items; the last one has `hasEOL`.
      pages.push({
        number,
        text: items
          .map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
          .join('')
          .trim(),
      });
      page.cleanup();
    }
    return { kind: 'pages', word: 'page', total: document.numPages, pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

function opened(bytes: Uint8Array): ReturnType<typeof getDocumentProxy> {
  return readable(getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }));
}

async function readable<T>(piece: Promise<T>): Promise<T> {
  try {
    return await piece;
  } catch (error) {
    const locked = error instanceof Error && error.name === 'PasswordException';
    throw new ClassedError(
      'tool_error',
      locked
        ? 'The PDF is password-protected.'
        : `Cannot read this PDF: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
