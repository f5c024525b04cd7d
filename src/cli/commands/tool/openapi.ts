import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { diskError } from '../../../client/disk.ts';
import { createFolder } from '../../../common/createFolder.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { openApiTools } from '../../../formats/openapi/openapi.ts';
import { readRegularSync } from '../../../tools/regularFile.ts';
import { type CommandLine, flag, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

const FETCH_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Writes a module with one tool per operation. */
export async function openapi(context: Context, commandLine: CommandLine): Promise<Outcome> {
  const [spec = ''] = commandLine.words;
  const out = textOption(commandLine, 'out');
  if (out === undefined) throw new StudioError('usage', 'Specify the module to write with --out tools/NAME.ts.');
  if (!/\.[cm]?ts$/.test(out))
    throw new StudioError('usage', `${out} is not a TypeScript file.`, {
      hint: 'Use a file name that ends in .ts for --out.',
    });
  const file = path.resolve(context.cwd, out);
  if (existsSync(file) && !flag(commandLine, 'force'))
    throw new StudioError('conflict', `${out} already exists and was not changed.`, {
      hint: 'Choose another name, or overwrite it with --force.',
    });
  const generated = openApiTools(spec, await textOf(spec, context));
  createFolder(path.dirname(file), path, mkdirSync);
  writeFileSync(file, generated.code);
  const { tools, secrets, skipped, baseUrl } = generated;
  if (context.json) {
    context.printJson({ file: out, tools, secrets, skipped, ...(baseUrl === undefined ? {} : { baseUrl }) });
    return 0;
  }
  for (const { name, operation, effect } of tools) context.print(`${name} (${effect})  ${operation}`);
  for (const { operation, why } of skipped) context.log(`! Skipped ${operation}: ${why}.`);
  if (baseUrl === undefined) context.log('! The description has no server URL. Set BASE_URL in the module.');
  const secretsHint =
    secrets.length === 0
      ? ''
      : ` Set ${secrets.join(', ')} in \`secrets\` of its entry, as shown at the top of the file.`;
  context.log(`Wrote ${out}.${secretsHint}`);
  return 0;
}

async function textOf(spec: string, context: Context): Promise<string> {
  if (!/^https?:\/\//.test(spec)) {
    try {
      return readRegularSync(path.resolve(context.cwd, spec), MAX_BYTES);
    } catch (error) {
      throw diskError(spec, error);
    }
  }
  try {
    const { outboundRequest } = await import('../../../net/outboundRequest.ts');
    const response = await outboundRequest(spec, {
      method: 'GET',
      redirects: true,
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_MS)]),
      headers: { accept: 'application/json, application/yaml, */*' },
    });
    if (!response.ok) throw new Error(`the server returned HTTP status ${response.status}`);
    return await response.text(MAX_BYTES);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof RangeError)
      throw new StudioError('too_large', `${spec} is larger than ${MAX_BYTES / 1024 / 1024} MiB.`);
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    throw new StudioError('unavailable', `Cannot read ${spec}: ${errorText(error)}${cause}.`, {
      hint: 'Pass the URL of an OpenAPI description in JSON or YAML.',
      cause: error,
    });
  }
}
