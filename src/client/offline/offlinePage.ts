/** Builds a saved page as one self-contained HTML file with script, style, font, and data. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { packageUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import { inlineScript, inlineStyle, jsonForHtml, type PageData, pageHtml } from '../../common/pageHtml.ts';
import { OFFLINE_ID, type OfflineData } from '../../protocol/offline.ts';

/** Larger data is compressed. */
const COMPRESS_MIN_CHARS = 1024 * 1024;
const SOURCE_MAP = /^\/[/*]# sourceMappingURL=.*$/gm;
const STYLE_URL = /url\(\s*(["']?)([^"')]+)\1\s*\)/g;
/** Media types of files that style sheets reference. */
const STYLE_MEDIA: Readonly<Record<string, string>> = {
  '.ttf': 'font/ttf',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

interface OfflinePageOptions {
  readonly title: string;
  readonly data: OfflineData;
  /** Folder of the built pages. Defaults to those of this installation. */
  readonly pages?: string;
}

/** Throws StudioError `unavailable` if the pages are not built. */
export async function offlinePage({
  title,
  data,
  pages = fileURLToPath(packageUrl('dist/webview')),
}: OfflinePageOptions): Promise<string> {
  const read = (name: string): Promise<Buffer> => readPage(pages, name);
  const script = withoutMap((await read('page.js')).toString('utf8'));
  const style = await inlineFiles(withoutMap((await read('page.css')).toString('utf8')), read);
  return pageHtml({
    title,
    sources: {
      script: [hashOf(inlineScript(script))],
      style: [hashOf(inlineStyle(style))],
      font: ['data:'],
      img: ['data:', 'blob:'],
      connect: [],
      worker: ['blob:'],
    },
    script: { text: script },
    style: { text: style },
    bodyAttributes: { 'data-host': 'file' },
    data: [offlineElement(data)],
  });
}

function offlineElement(data: OfflineData): PageData {
  const json = JSON.stringify(data);
  if (json.length <= COMPRESS_MIN_CHARS) return { id: OFFLINE_ID, type: 'application/json', text: jsonForHtml(json) };
  return {
    id: OFFLINE_ID,
    type: 'application/gzip',
    text: gzipSync(json).toString('base64'),
    attributes: { 'data-encoding': 'gzip' },
  };
}

function hashOf(inline: string): string {
  return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
}

/** Removes source map references, because a saved page has no source maps. */
function withoutMap(text: string): string {
  return text.replaceAll(SOURCE_MAP, '');
}

/** Inlines the files that a style sheet references. */
async function inlineFiles(style: string, read: (name: string) => Promise<Buffer>): Promise<string> {
  const files = new Map<string, string>();
  for (const [whole, , url = ''] of style.matchAll(STYLE_URL)) {
    if (url.startsWith('data:') || url.startsWith('#') || files.has(whole)) continue;
    const name = path.posix.basename(url.split(/[?#]/, 1)[0] ?? '');
    const media = STYLE_MEDIA[path.posix.extname(name)];
    if (media === undefined)
      throw new StudioError('internal', `Cannot inline ${name}, which the style sheet references.`);
    files.set(whole, `url("data:${media};base64,${(await read(name)).toString('base64')}")`);
  }
  return style.replaceAll(STYLE_URL, (whole) => files.get(whole) ?? whole);
}

async function readPage(pages: string, name: string): Promise<Buffer> {
  try {
    return await readFile(path.join(pages, name));
  } catch (cause) {
    throw new StudioError('unavailable', `The viewer is incomplete: ${name} is missing.`, {
      hint: 'Build it with npm run build, or reinstall Rollout Studio.',
      cause,
    });
  }
}
