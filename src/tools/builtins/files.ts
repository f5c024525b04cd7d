import path from 'node:path';
import { z } from 'zod';
import { plural } from '../../common/text.ts';
import type { ToolOutcome } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ToolEnvironment } from '../environment.ts';
import { textResponse } from '../outcome.ts';
import { contentOf } from '../regularFile.ts';
import { type WorkFile, WorkFolder } from '../workFolder.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { textIn, utf8In } from './encoding.ts';
import { withFileErrors } from './fileErrors.ts';

/** Size limit for reading a file. */
const MAX_READ = 64 * 1024 * 1024;
const MAX_IMAGE = 20 * 1024 * 1024;
const MAX_ENTRIES = 2000;
const IMAGES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

const file = z.string().min(1).describe('Path relative to the working directory.');

/** Creates the tools for the working directory: `read_file`, `write_file`, `edit_file`, `list_files`, `delete_file`. */
export function fileTools(environment: ToolEnvironment): BuiltinTool[] {
  const folder = new WorkFolder(environment.cwd);
  const readOnly = { effect: 'pure', sessionBound: false } as const;
  const changing = { effect: 'irreversible', sessionBound: true } as const;
  return [
    builtin('files', {
      name: 'read_file',
      ...readOnly,
      description: 'Reads a text file, or returns an image.',
      input: z.object({
        path: file,
        first_line: z.number().int().min(1).optional().describe('The first line to return, from 1.'),
        lines: z.number().int().min(1).optional().describe('How many lines to return.'),
      }),
      run: (args) => withFileErrors(args.path, () => folder.open(args.path, (opened) => readText(opened, args))),
    }),
    builtin('files', {
      name: 'write_file',
      ...changing,
      description: 'Writes a text file, replacing an existing one; creates missing folders.',
      input: z.object({
        path: file,
        content: z.string(),
        append: z.boolean().default(false).describe('Append instead of replacing.'),
      }),
      run: (args) =>
        withFileErrors(args.path, async () => {
          await folder.write(args.path, args.content, args.append ? 'append' : 'replace');
          return {
            response: `${args.append ? 'Appended' : 'Wrote'} ${plural(Buffer.byteLength(args.content), 'byte')}.`,
          };
        }),
    }),
    builtin('files', {
      name: 'edit_file',
      ...changing,
      description: 'Replaces a piece of text in a file. The piece must occur exactly once, unless `all` is set.',
      input: z.object({ path: file, find: z.string().min(1), replace: z.string(), all: z.boolean().default(false) }),
      run: (args) =>
        withFileErrors(args.path, async () => {
          const before = utf8In(await folder.open(args.path, bytesIn));
          if (before === undefined)
            throw new ClassedError(
              'tool_error',
              `${args.path} is not UTF-8 text and cannot be edited. Use write_file to replace it.`,
            );
          const pieces = before.split(args.find);
          const count = pieces.length - 1;
          if (count === 0) throw new ClassedError('tool_error', `The text to replace does not occur in ${args.path}.`);
          if (count > 1 && !args.all)
            throw new ClassedError(
              'tool_error',
              `The text to replace occurs ${count} times in ${args.path}. Add more surrounding text, or set \`all\`.`,
            );
          await folder.write(args.path, pieces.join(args.replace));
          return { response: `Replaced ${count === 1 ? 'one occurrence' : `${count} occurrences`}.` };
        }),
    }),
    builtin('files', {
      name: 'list_files',
      ...readOnly,
      description: 'Lists a folder: names, kinds and sizes.',
      input: z.object({
        path: z.string().default('.').describe('A folder, relative to the working directory.'),
        recursive: z.boolean().default(false),
      }),
      run: (args) =>
        withFileErrors(args.path, async () => {
          const { entries, more } = await folder.list(args.path, args.recursive, MAX_ENTRIES);
          return { response: { entries, ...(more ? { more } : {}) } };
        }),
    }),
    builtin('files', {
      name: 'delete_file',
      ...changing,
      description: 'Deletes a file or an empty folder.',
      input: z.object({ path: file }),
      run: (args) =>
        withFileErrors(args.path, async () => {
          await folder.remove(args.path);
          return { response: `Deleted ${args.path}.` };
        }),
    }),
  ];
}

async function readText(
  opened: WorkFile,
  range: { readonly first_line?: number | undefined; readonly lines?: number | undefined },
): Promise<ToolOutcome> {
  const mime = IMAGES[path.extname(opened.name).toLowerCase()];
  if (mime !== undefined) {
    const { size } = opened.stats;
    if (size > MAX_IMAGE)
      throw new ClassedError('tool_error', `The image is too large: ${size} bytes, maximum ${MAX_IMAGE}.`);
    return {
      response: `An image of ${plural(size, 'byte')}.`,
      parts: [
        {
          type: 'blob',
          mime_type: mime,
          modality: 'image',
          content: (await contentOf(opened)).toString('base64'),
        },
      ],
    };
  }
  const text = textIn(await bytesIn(opened)).replace(/^\uFEFF/, '');
  if (range.first_line === undefined && range.lines === undefined) return textResponse({ text });
  const first = (range.first_line ?? 1) - 1;
  return textResponse({
    text: text
      .split('\n')
      .slice(first, range.lines === undefined ? undefined : first + range.lines)
      .join('\n'),
  });
}

async function bytesIn(opened: WorkFile): Promise<Buffer> {
  const { stats } = opened;
  if (stats.isDirectory())
    throw new ClassedError('tool_error', 'This is a folder. Use list_files to see its contents.');
  if (stats.size > MAX_READ)
    throw new ClassedError('tool_error', `The file is too large: ${stats.size} bytes, maximum ${MAX_READ}.`);
  return contentOf(opened);
}
