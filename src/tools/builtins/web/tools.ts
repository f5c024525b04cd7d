import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { textResponse } from '../../outcome.ts';
import { builtin, type BuiltinTool } from '../builtinHost.ts';
import { Gate } from './addresses.ts';
import type { Download } from './download.ts';

const PAGE = { most: 10 * 1024 * 1024, seconds: 60 } as const;

/** `search` and `read_webpage`. */
export function searchTools(settings: SearchSettings): BuiltinTool[] {
  const readOnly = { effect: 'pure', sessionBound: false } as const;
  const gate = new Gate(settings.private_addresses === true);
  return [
    builtin('search', {
      name: 'search', ...readOnly,
      description: 'Searches the web. Gives titles, addresses and short pieces of the pages found; read_webpage gives a whole one.',
      input: z.object({ query: z.string().min(1).describe('What to search for.'), num: z.number().int().min(1).max(20).default(5).describe('How many pages to give at most.') }),
      run: async ({ query, num }, { signal }) => {
        const { searchOf } = await import('./provider.ts');
        const hits = await searchOf(settings)(query, num, signal);
        return { response: hits.length === 0 ? 'Nothing was found.' : hits.map((hit) => ({ ...hit })) };
      },
    }),
    builtin('search', {
      name: 'read_webpage', ...readOnly,
      description: 'Reads a page of the web as text, with its links; also PDFs. Nothing of the page is run: the built-in browser shows pages that need that.',
      input: z.object({ url: z.string().min(1).describe('The address, with http:// or https://.') }),
      run: async ({ url }, { signal }) => {
        const { download } = await import('./download.ts');
        const page = await download(url, gate, PAGE, signal);
        return textResponse({ text: await textOf(page, signal) });
      },
    }),
  ];
}

async function textOf({ url, media, charset, bytes }: Download, signal: AbortSignal): Promise<string> {
  if (media === 'application/pdf') {
    const { pdfText } = await import('../documents/pdf.ts');
    const document = await pdfText(bytes, { first: 1, last: Infinity }, signal);
    return document.kind === 'text' ? document.text : document.pages.map(({ number, text }) => `--- page ${number} of ${document.total} ---\n${text}`).join('\n\n');
  }
  if (media !== '' && !/^text\/|json|xml|javascript/.test(media)) throw new ClassedError('tool_error', `${url.href} is no text but ${media}, with ${bytes.length} bytes.`);
  const text = decoded(bytes, charset);
  if (!media.includes('html') && !/^\s*<(!doctype html|html)/i.test(text)) return text;
  const { readable } = await import('./readable.ts');
  const page = readable(text, url);
  return `${page.title === undefined ? '' : `${page.title}\n`}${url.href}\n\n${page.text === '' ? '[The page has no text. It may need a browser.]' : page.text}`;
}

/** By the charset that the server or the page tells. */
function decoded(bytes: Buffer, charset: string | undefined): string {
  const told = charset ?? /<meta[^>]+charset=["']?([\w-]+)/i.exec(bytes.subarray(0, 2048).toString('latin1'))?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(told).decode(bytes);
  } catch {
    return bytes.toString('utf8'); // a charset that does not exist
  }
}
