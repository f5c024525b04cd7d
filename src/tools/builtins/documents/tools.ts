import path from 'node:path';
import { z } from 'zod';
import { plural } from '../../../common/text.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { textResponse } from '../../outcome.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { bytesOf } from '../bytes.ts';
import { textIn } from '../encoding.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** A numbered part of a document: a page or a slide. */
export interface Page {
  readonly number: number;
  readonly text: string;
}

/** The text of a document, by page if it has pages. */
export type DocumentText =
  | { readonly kind: 'pages'; readonly word: 'page' | 'slide'; readonly total: number; readonly pages: readonly Page[] }
  | { readonly kind: 'text'; readonly text: string };

interface Range {
  readonly first: number;
  readonly last: number;
}

/** Readers by extension. Libraries are loaded on first use. */
const READERS: Readonly<Record<string, (bytes: Buffer, range: Range, signal: AbortSignal) => Promise<DocumentText>>> = {
  '.pdf': async (bytes, range, signal) => (await import('./pdf.ts')).pdfText(bytes, range, signal),
  '.docx': async (bytes) => (await import('./docx.ts')).docxText(bytes),
  '.pptx': async (bytes, range) => (await import('./pptx.ts')).pptxText(bytes, range),
  '.html': async (bytes) => ({ kind: 'text', text: (await import('../web/readable.ts')).readable(textIn(bytes)).text }),
  '.csv': (bytes) => Promise.resolve(plain(bytes)),
  '.tsv': (bytes) => Promise.resolve(plain(bytes)),
  '.txt': (bytes) => Promise.resolve(plain(bytes)),
  '.md': (bytes) => Promise.resolve(plain(bytes)),
  '.json': (bytes) => Promise.resolve(plain(bytes)),
  '.xml': (bytes) => Promise.resolve(plain(bytes)),
};
const SAME: Readonly<Record<string, string>> = {
  '.htm': '.html',
  '.xhtml': '.html',
  '.jsonl': '.json',
  '.log': '.txt',
  '.markdown': '.md',
};
const OTHERS: Readonly<Record<string, string>> = {
  '.xlsx': 'Use extract_excel_content of the built-in spreadsheet to read workbooks.',
  '.xls': 'Only workbooks in the newer .xlsx format are supported.',
  '.doc': 'Only the newer .docx format is supported.',
  '.ppt': 'Only the newer .pptx format is supported.',
};

/** Creates `extract_document_content`, which extracts the text of many kinds of documents. */
export function documentTools({ cwd }: Pick<ToolEnvironment, 'cwd'>): BuiltinTool[] {
  return [
    builtin('documents', {
      name: 'extract_document_content',
      effect: 'pure',
      sessionBound: false,
      description: `Extracts the text of a document: ${Object.keys(READERS)
        .map((kind) => kind.slice(1))
        .join(', ')}. Pages of PDFs and slides are numbered; tables are formatted as Markdown.`,
      input: z.object({
        file_path: z.string().min(1).describe('Path of the document, relative to the working directory.'),
        first_page: z
          .number()
          .int()
          .min(1)
          .default(1)
          .describe('The first page or slide to return, if the document has pages.'),
        last_page: z
          .number()
          .int()
          .min(1)
          .optional()
          .describe('The last page or slide to return. Default: the last one.'),
      }),
      run: async ({ file_path, first_page, last_page }, { signal }) => {
        const ending = path.extname(file_path).toLowerCase();
        const read = READERS[SAME[ending] ?? ending];
        if (read === undefined)
          throw new ClassedError(
            'tool_error',
            `Documents of type "${ending}" are not supported. ` +
              (OTHERS[ending] ?? `Supported types: ${Object.keys(READERS).join(', ')}.`),
          );
        const bytes = await bytesOf(cwd, file_path, MAX_BYTES);
        const document = await read(bytes, { first: first_page, last: last_page ?? Infinity }, signal);
        return textResponse({ text: document.kind === 'text' ? document.text : inPages(document, first_page) });
      },
    }),
  ];
}

function inPages({ word, total, pages }: Extract<DocumentText, { kind: 'pages' }>, first: number): string {
  if (pages.length === 0)
    throw new ClassedError('tool_error', `Cannot read ${word} ${first}: the document has ${plural(total, word)}.`);
  return pages
    .map(
      ({ number, text }) =>
        `--- ${word} ${number} of ${total} ---\n${text === '' ? `[no text on this ${word}]` : text}`,
    )
    .join('\n\n');
}

function plain(bytes: Buffer): DocumentText {
  return { kind: 'text', text: textIn(bytes).replace(/^\uFEFF/, '') };
}
