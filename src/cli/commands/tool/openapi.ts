import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../../../common/errors.ts';
import { openApiTools } from '../../../formats/openapi/openapi.ts';
import { type CommandLine, flag, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

const FETCH_MS = 30_000;
const LARGEST = 32 * 1024 * 1024;

/** Writes one module with a tool for each operation. */
export async function openapi(context: Context, given: CommandLine): Promise<Outcome> {
  const [spec = ''] = given.words;
  const out = textOption(given, 'out');
  if (out === undefined) throw new StudioError('usage', 'Say where the tools go: --out tools/NAME.ts.');
  if (!/\.[cm]?ts$/.test(out))
    throw new StudioError('usage', `${out} is no TypeScript file.`, { hint: 'Give --out a name that ends in .ts.' });
  const file = path.resolve(context.cwd, out);
  if (existsSync(file) && !flag(given, 'force'))
    throw new StudioError('conflict', `${out} exists already; nothing was written.`, {
      hint: 'Choose another name, or write it anew with --force.',
    });
  const made = openApiTools(spec, await textOf(spec, context));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, made.code);
  const { tools, secrets, skipped, baseUrl } = made;
  if (context.json) {
    context.printJson({ file: out, tools, secrets, skipped, ...(baseUrl === undefined ? {} : { baseUrl }) });
    return 0;
  }
  for (const { name, operation, effect } of tools) context.print(`${name} (${effect})  ${operation}`);
  for (const { operation, why } of skipped) context.tell(`! ${operation} is left out: ${why}.`);
  if (baseUrl === undefined)
    context.tell('! The description does not tell where the service is: set BASE_URL in the module.');
  context.tell(
    `${out} is ` +
      `written.${secrets.length === 0 ? '' : ` Give ${secrets.join(', ')} under \`secrets\` of its entry; the head of the file shows how.`}`,
  );
  return 0;
}

async function textOf(spec: string, context: Context): Promise<string> {
  try {
    if (!/^https?:\/\//.test(spec)) return await readFile(path.resolve(context.cwd, spec), 'utf8');
    const response = await fetch(spec, {
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_MS)]),
      headers: { accept: 'application/json, application/yaml, */*' },
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const bytes = await response.arrayBuffer();
    if (bytes.byteLength > LARGEST) throw new Error(`it is larger than ${LARGEST / 1024 / 1024} MiB`);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    context.signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    throw new StudioError('unavailable', `${spec} cannot be read: ${errorText(error)}${cause}.`, {
      hint: 'Give a file or a URL of openapi.json or openapi.yaml.',
      cause: error,
    });
  }
}
