import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { errorText, StudioError } from '../../../common/errors.ts';
import { addEntry } from '../../../config/tools/mcp/addEntry.ts';
import { clientServers, type FoundServer, type McpServer } from '../../../config/tools/mcp/clientFile.ts';
import { newEntry } from '../../../config/tools/mcp/newEntry.ts';
import { listTools, serverTools } from '../../../rerun/tryTool.ts';
import { type CommandLine, flag, type Outcome, textOption, textOptions } from '../../command.ts';
import type { Context } from '../../context.ts';

/** Connects to the server once, so that what is written works, and writes its entry. */
export async function add(context: Context, given: CommandLine): Promise<Outcome> {
  const [agent = '', ...command] = given.words;
  const file = path.resolve(context.cwd, agent);
  const text = read(file, agent);
  const { server, notes, name } = wanted(context, given, command);
  const chosen = textOption(given, 'only')
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const entry = newEntry(textOption(given, 'name') ?? name, server, chosen);
  const changed = addEntry(agent, text, entry);
  const { tools, problems } = await listTools(
    serverTools(agent, entry, path.dirname(file)),
    context.env,
    context.signal,
  );
  const [problem] = problems;
  if (problem !== undefined) throw new StudioError('unavailable', problem, { hint: 'Nothing was written.' });
  const dry = flag(given, 'dry-run');
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
  for (const note of notes) context.tell(`! ${note}`);
  context.tell(
    dry
      ? 'Nothing was written.'
      : `${agent} has them now${chosen === undefined ? '; --only NAME,NAME takes in only some' : ''}.`,
  );
  return 0;
}

function read(file: string, shown: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StudioError('not_found', `${shown}: ${errorText(error)}`, {
      hint: 'Give the agent file that gets the server.',
      cause: error,
    });
  }
}

function wanted(
  context: Context,
  given: CommandLine,
  command: readonly string[],
): { readonly server: McpServer; readonly notes: readonly string[]; readonly name?: string } {
  const [url, from] = [textOption(given, 'url'), textOption(given, 'from')];
  if ([url !== undefined, from !== undefined, command.length > 0].filter(Boolean).length !== 1) {
    throw new StudioError('usage', 'Say which server: a command behind `--`, or --url, or --from.', {
      hint: 'For example: rollout tool add agents/desk.agent.yaml -- npx -y @modelcontextprotocol/server-everything',
    });
  }
  if (from !== undefined) return fromFile(context, from, textOption(given, 'server'));
  const [env, headers] = [pairs(textOptions(given, 'env'), '='), pairs(textOptions(given, 'header'), ':')];
  if (url !== undefined) {
    if (env !== undefined) throw new StudioError('usage', '--env is for a command; a server at a URL gets --header.');
    return { server: { url, ...(headers === undefined ? {} : { headers }) }, notes: [] };
  }
  if (headers !== undefined) throw new StudioError('usage', '--header is for --url; a command gets --env.');
  const [program = '', ...args] = command;
  return {
    server: { command: program, ...(args.length === 0 ? {} : { args }), ...(env === undefined ? {} : { env }) },
    notes: [],
  };
}

function fromFile(context: Context, from: string, name: string | undefined): FoundServer {
  const file = path.resolve(context.cwd, from);
  const { found, unusable } = clientServers(from, read(file, from), context.cwd);
  const fitting = name === undefined ? found : found.filter((one) => one.name === name);
  const [only, ...more] = fitting;
  if (only !== undefined && more.length === 0) return only;
  const why = unusable.find((one) => one.name === name)?.why;
  if (why !== undefined) throw new StudioError('config', `The server ${name ?? ''} of ${from} cannot be used: ${why}.`);
  throw new StudioError(
    name === undefined ? 'usage' : 'not_found',
    name === undefined ? `${from} has several servers.` : `${from} has no server ${name}.`,
    { hint: `Name one with --server: ${found.map((one) => one.name).join(', ')}.` },
  );
}

function pairs(texts: readonly string[], sign: '=' | ':'): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text): [string, string] => {
      const at = text.indexOf(sign);
      if (at < 1)
        throw new StudioError('usage', `“${text}” is no NAME${sign}VALUE.`, {
          hint: 'Write secrets as ${env:NAME}, in single quotes.',
        });
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}
