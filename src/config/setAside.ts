/** Changes which tasks a world file sets aside, and leaves the rest of its text as it is. */
import { type Document, isMap, isNode, isScalar, type Pair, parseDocument } from 'yaml';
import { StudioError } from '../common/errors.ts';

const KEY = 'set_aside';

/**
 * Returns the text of a world file that sets these tasks aside, and no others. Throws StudioError `config` for a text
 * that is no world file.
 */
export function withSetAside(file: string, text: string, tasks: readonly string[]): string {
  const document = parseDocument(text, { version: '1.2' });
  const [error] = document.errors;
  if (error !== undefined)
    throw new StudioError('config', `${file}: ${error.message}`, { hint: 'Fix this error first.', cause: error });
  const { contents } = document;
  if (!isMap(contents)) throw new StudioError('config', `${file} is not a world file: expected a group of keys.`);
  if (contents.flow === true) return withMember(document, tasks);
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === KEY);
  const line = tasks.length === 0 ? '' : `${KEY}: [${tasks.map(inFlow).join(', ')}]\n`;
  if (pair === undefined) return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${line}`;
  const [from, to] = extentOf(pair, text);
  return `${text.slice(0, from)}${line}${text.slice(to)}`;
}

/** A file in JSON, or in one pair of braces, is written again as a whole. */
function withMember(document: Document.Parsed, tasks: readonly string[]): string {
  const { [KEY]: _, ...value } = document.toJS() as Record<string, unknown>; // a map
  return `${JSON.stringify({ ...value, ...(tasks.length === 0 ? {} : { [KEY]: tasks }) }, null, 2)}\n`;
}

/** Returns where the lines of a key and its value begin and end. */
function extentOf({ key, value }: Pair, text: string): readonly [number, number] {
  const start = isNode(key) ? (key.range?.[0] ?? 0) : 0;
  const end = isNode(value) ? (value.range?.[1] ?? start) : start;
  const newline = text.indexOf('\n', end);
  // A block list ends with the line break of its last item.
  const to = text[end - 1] === '\n' ? end : newline === -1 ? text.length : newline + 1;
  return [start, to];
}

function inFlow(task: string): string {
  return /^[A-Za-z_][\w./-]*$/.test(task) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(task)
    ? task
    : JSON.stringify(task);
}
