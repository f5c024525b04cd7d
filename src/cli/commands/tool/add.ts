import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { diskError } from '../../../client/disk.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { addEntry } from '../../../config/tools/mcp/addEntry.ts';
import { clientServers, type FoundServer, type McpServer } from '../../../config/tools/mcp/clientFile.ts';
import { newEntry } from '../../../config/tools/mcp/newEntry.ts';
import { listTools, serverTools } from '../../../rerun/tryTool.ts';
import { readRegularSync } from '../../../tools/regularFile.ts';
import { type CommandLine, flag, type Outcome, textOption, textOptions } from '../../command.ts';
import type { Context } from '../../context.ts';

/** Connects to the server to verify it, then adds its entry to the agent file. */
export async function add(context: Context, commandLine: CommandLine): Promise<Outcome> {
  const [agent = '', ...command] = commandLine.words;
  const file = path.resolve(context.cwd, agent);
  const text = read(file, agent);
  const { server, notes, name } = serverOf(context, commandLine, command);
  const chosen = textOption(commandLine, 'only')
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const entry = newEntry(textOption(commandLine, 'name') ?? name, server, chosen);
  const changed = addEntry(agent, text, entry);
  const { tools, problems } = await listTools(
    serverTools(agent, entry, path.dirname(file)),
    context.env,
    context.signal,
  );
  const [problem] = problems;
  if (problem !== undefined) throw new StudioError('unavailable', problem, { hint: 'The file was not changed.' });
  const dry = flag(commandLine, 'dry-run');
  if (!dry) writeFileSync(file, changed);
  if (context.json) {
    context.printJson({
      file: agent,
      entry,
      tools: tools.map(({ name: tool, description, effect }) => ({ name: tool, description, effect })),
      notes,
      written: !dry,
    });
    return 0;
  }
  for (const { name: tool, effect, description } of tools)
    context.print(`${tool} (${effect})${description === '' ? '' : `  ${description.split('\n')[0] ?? ''}`}`);
  for (const note of notes) context.log(`! ${note}`);
  context.log(
    dry
      ? 'Dry run: the file was not changed.'
      : `Added the server to ${agent}.${chosen === undefined ? ' To add only some tools, use --only NAME,NAME.' : ''}`,
  );
  return 0;
}

function read(file: string, label: string): string {
  try {
    return readRegularSync(file);
  } catch (error) {
    if (StudioError.is(error)) throw diskError(label, error);
    throw new StudioError('not_found', `${label}: ${errorText(error)}`, {
      hint: 'Pass the agent file to add the server to.',
      cause: error,
    });
  }
}

function serverOf(
  context: Context,
  commandLine: CommandLine,
  command: readonly string[],
): { readonly server: McpServer; readonly notes: readonly string[]; readonly name?: string } {
  const [url, from] = [textOption(commandLine, 'url'), textOption(commandLine, 'from')];
  if ([url !== undefined, from !== undefined, command.length > 0].filter(Boolean).length !== 1) {
    throw new StudioError('usage', 'Specify one server: a command after `--`, --url, or --from.', {
      hint: 'For example: rollout tool add agents/desk.agent.yaml -- npx -y @modelcontextprotocol/server-everything',
    });
  }
  if (from !== undefined) return fromFile(context, from, textOption(commandLine, 'server'));
  const [env, headers] = [pairs(textOptions(commandLine, 'env'), '='), pairs(textOptions(commandLine, 'header'), ':')];
  if (url !== undefined) {
    if (env !== undefined)
      throw new StudioError('usage', '--env requires a command. For a server at a URL, use --header.');
    return { server: { url, ...(headers === undefined ? {} : { headers }) }, notes: [] };
  }
  if (headers !== undefined) throw new StudioError('usage', '--header requires --url. For a command, use --env.');
  const [program = '', ...args] = command;
  return {
    server: { command: program, ...(args.length === 0 ? {} : { args }), ...(env === undefined ? {} : { env }) },
    notes: [],
  };
}

function fromFile(context: Context, from: string, name: string | undefined): FoundServer {
  const file = path.resolve(context.cwd, from);
  const { found, unusable } = clientServers(from, read(file, from), context.cwd);
  const [only, ...more] = name === undefined ? found : found.filter((one) => one.name === name);
  if (only !== undefined && more.length === 0) return only;
  const reason = unusable.find((one) => one.name === name)?.why;
  if (reason !== undefined)
    throw new StudioError('config', `The server ${name ?? ''} in ${from} cannot be used: ${reason}.`);
  throw new StudioError(
    name === undefined ? 'usage' : 'not_found',
    name === undefined ? `${from} has several servers.` : `${from} has no server ${name}.`,
    { hint: `Select one with --server: ${found.map((one) => one.name).join(', ')}.` },
  );
}

function pairs(texts: readonly string[], sign: '=' | ':'): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text): [string, string] => {
      const at = text.indexOf(sign);
      if (at < 1)
        throw new StudioError('usage', `Expected NAME${sign}VALUE, not “${text}”.`, {
          hint: 'Write secrets as ${env:NAME}, in single quotes.',
        });
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}
