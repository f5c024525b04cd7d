import { z } from 'zod';
import { plural } from '../../../common/text.ts';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { WorkFolder } from '../../workFolder.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { withFileErrors } from '../fileErrors.ts';
import { runInThread } from '../readerThread/pool.ts';
import { Gate } from './addresses.ts';
import { Outgoing } from './outgoing.ts';

const FILE = { maxBytes: 128 * 1024 * 1024, seconds: 600 } as const;
const PAGE = { maxBytes: 10 * 1024 * 1024, seconds: 60 } as const;

/** Creates `search`, `read_webpage`, and `download_file`. */
export function searchTools({ cwd }: Pick<ToolEnvironment, 'cwd'>, settings: SearchSettings): BuiltinTool[] {
  const readOnly = { effect: 'pure', sessionBound: false } as const;
  const gate = new Gate(settings.private_addresses === true);
  const outgoing = new Outgoing(settings.proxy);
  return [
    builtin('search', {
      name: 'search',
      ...readOnly,
      description:
        'Searches the web. Returns titles, URLs, and snippets of the pages found; use read_webpage to read a whole ' +
        'page.',
      input: z.object({
        query: z.string().min(1).describe('What to search for.'),
        num: z.number().int().min(1).max(20).default(5).describe('The maximum number of results.'),
      }),
      run: async ({ query, num }, { signal }) => {
        const { searchOf } = await import('./provider.ts');
        const hits = await searchOf(settings, outgoing)(query, num, signal);
        return { response: hits.length === 0 ? 'No results.' : hits.map((hit) => ({ ...hit })) };
      },
    }),
    builtin('search', {
      name: 'read_webpage',
      ...readOnly,
      description:
        'Reads a web page as text with its links; also PDFs. Scripts are not run: for pages that need them, use the ' +
        'built-in browser.',
      input: z.object({ url: z.string().min(1).describe('The http:// or https:// URL.') }),
      run: async ({ url }, { signal }) => {
        const { download } = await import('./download.ts');
        const { url: at, media, charset, bytes } = await download(url, gate, outgoing, PAGE, signal);
        return runInThread({ kind: 'page', url: at.href, media, charset, bytes }, signal);
      },
    }),
    builtin('search', {
      name: 'download_file',
      effect: 'irreversible',
      sessionBound: true,
      description: 'Downloads a URL to a file in the working directory.',
      input: z.object({
        url: z.string().min(1).describe('The http:// or https:// URL.'),
        output_file_path: z
          .string()
          .min(1)
          .describe('Path of the file, relative to the working directory. Missing folders are created.'),
        overwrite: z.boolean().default(false).describe('Whether to replace an existing file.'),
      }),
      run: ({ url, output_file_path, overwrite }, { signal }) =>
        withFileErrors(output_file_path, async () => {
          const folder = new WorkFolder(cwd);
          if ((await folder.exists(output_file_path)) && !overwrite)
            throw new ClassedError(
              'tool_error',
              `${output_file_path} already exists. Set \`overwrite\` to replace it.`,
            );
          const { download } = await import('./download.ts');
          const { bytes, media } = await download(url, gate, outgoing, FILE, signal);
          await folder.write(output_file_path, bytes, overwrite ? 'replace' : 'create');
          return { response: `Wrote ${plural(bytes.length, 'byte')}${media === '' ? '' : ` of ${media}`}.` };
        }),
    }),
  ];
}
