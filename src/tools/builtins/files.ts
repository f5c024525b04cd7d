import { lstat, mkdir, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { plural } from '../../common/text.ts';
import type { ToolOutcome } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ToolEnvironment } from '../environment.ts';
import { textResponse } from '../outcome.ts';
import { readRegular, writeRegular } from '../regularFile.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { confine, confineEntry } from './confine.ts';
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
  const { cwd } = environment;
  const find = (name: string): Promise<string> => confine(cwd, name);
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
      run: async (args) => withFileErrors(args.path, async () => readText(await find(args.path), args)),
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
          const target = await find(args.path);
          await mkdir(path.dirname(target), { recursive: true });
          await writeRegular(target, args.content, args.append);
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
          const target = await find(args.path);
          const before = utf8In(await bytesAt(target));
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
          await writeRegular(target, pieces.join(args.replace));
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
      run: (args) => withFileErrors(args.path, async () => list(await find(args.path), args.recursive)),
    }),
    builtin('files', {
      name: 'delete_file',
      ...changing,
      description: 'Deletes a file or an empty folder.',
      input: z.object({ path: file }),
      run: (args) =>
        withFileErrors(args.path, async () => {
          const target = await confineEntry(cwd, args.path);
          if ((await lstat(target)).isDirectory()) await rmdir(target);
          else await unlink(target);
          return { response: `Deleted ${args.path}.` };
        }),
    }),
  ];
}

async function readText(
  target: string,
  range: { readonly first_line?: number | undefined; readonly lines?: number | undefined },
): Promise<ToolOutcome> {
  const mime = IMAGES[path.extname(target).toLowerCase()];
  if (mime !== undefined) {
    const { size } = await stat(target);
    if (size > MAX_IMAGE)
      throw new ClassedError('tool_error', `The image is too large: ${size} bytes, maximum ${MAX_IMAGE}.`);
    return {
      response: `An image of ${plural(size, 'byte')}.`,
      parts: [
        {
          type: 'blob',
          mime_type: mime,
          modality: 'image',
          content: (await readRegular(target, MAX_IMAGE)).toString('base64'),
        },
      ],
    };
  }
  const text = textIn(await bytesAt(target)).replace(/^\uFEFF/, '');
  if (range.first_line === undefined && range.lines === undefined) return textResponse({ text });
  const first = (range.first_line ?? 1) - 1;
  return textResponse({
    text: text
      .split('\n')
      .slice(first, range.lines === undefined ? undefined : first + range.lines)
      .join('\n'),
  });
}

async function bytesAt(target: string): Promise<Buffer> {
  const stats = await stat(target);
  if (stats.isDirectory())
    throw new ClassedError('tool_error', 'This is a folder. Use list_files to see its contents.');
  if (stats.size > MAX_READ)
    throw new ClassedError('tool_error', `The file is too large: ${stats.size} bytes, maximum ${MAX_READ}.`);
  return readRegular(target, MAX_READ);
}

async function list(folder: string, recursive: boolean): Promise<ToolOutcome> {
  const entries: { path: string; kind: string; bytes?: number }[] = [];
  const waiting = [folder];
  let truncated = false;
  for (let next = waiting.shift(); next !== undefined && !truncated; next = waiting.shift()) {
    for (const entry of (await readdir(next, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entries.length >= MAX_ENTRIES) {
        truncated = true;
        break;
      }
      const full = path.join(next, entry.name);
      const name = path.relative(folder, full).split(path.sep).join('/');
      if (entry.isDirectory()) {
        entries.push({ path: name, kind: 'folder' });
        if (recursive) waiting.push(full);
      } else if (entry.isFile()) {
        entries.push({ path: name, kind: 'file', bytes: (await stat(full)).size });
      } else {
        entries.push({ path: name, kind: entry.isSymbolicLink() ? 'link' : 'other' });
      }
    }
  }
  return { response: { entries, ...(truncated ? { more: true } : {}) } };
}
