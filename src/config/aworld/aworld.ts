/**
 * Agents of AWorld as agent files: its agents, task and swarm YAML and its Markdown agents, with their MCP servers
 * (`mcp_config`) and swarms. What has no place here is told, never dropped in silence. Pure.
 */
import { stringify } from 'yaml';
import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject, jsonOf } from '../../common/json.ts';
import { clientServers, type FoundServer } from '../tools/mcp/clientFile.ts';
import { newEntry } from '../tools/mcp/newEntry.ts';
import { settingsOf } from './model.ts';
import { readSource, type SourceAgent } from './source.ts';
import { type SwarmTeam, teamsOf } from './swarm.ts';
import { type Tell, textOf } from './texts.ts';

export interface AworldImport {
  /** Relative paths with `/`: `agents/NAME.agent.yaml`, `prompts/NAME.md`. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** What a batch would name. */
  readonly main: string;
  /** What people should know: keys to set, parts that were left out. */
  readonly notes: readonly string[];
}

/**
 * `folder`: what servers' `${workspaceFolder}` means. `read`: the text of a file that `mcp_config` names. Throws
 * StudioError `config`.
 */
export function importAworld(file: string, text: string, folder: string, read: (path: string) => string): AworldImport {
  const source = readSource(file, text);
  const names = slugs(source.agents.map(({ name }) => name));
  const slug = (name: string): string => names.get(name) ?? name;
  const files: { path: string; text: string }[] = [];
  const notes: string[] = [];
  const tell: Tell = (at, said) => void notes.push(`${source.place(at)}: ${said}`);
  for (const at of source.left)
    tell(at, `\`${at.join('.')}\` has no place here${at[0] === 'task' ? ': tasks are lines of a dataset' : ''}.`);
  const base = slugOf(file.replace(/^.*[/\\]/, '').replace(/\.\w+$/, ''));
  const given = source.swarm === undefined ? undefined : textOf(source.swarm['name']);
  const outermost =
    [given === undefined ? undefined : slugOf(given), base, `${base}-team`].find(
      (name) => name !== undefined && ![...names.values()].includes(name),
    ) ?? `${base}-team`;
  const teams =
    source.swarm === undefined
      ? []
      : teamsOf(
          file,
          outermost,
          source.swarm,
          source.agents.map(({ name }) => name),
          tell,
        );
  const teamText = (team: SwarmTeam): JsonObject => ({
    kind: team.kind,
    members: team.members.map(({ name, after, to }) => {
      const agent = `${slug(name)}.agent.yaml`;
      return after === undefined && to === undefined
        ? agent
        : {
            agent,
            ...(after === undefined ? {} : { after: after.map(slug) }),
            ...(to === undefined ? {} : { to: to.map(slug) }),
          };
    }),
  });

  for (const agent of source.agents) {
    const { model, steps } = settingsOf(agent, source.steps, tell);
    const tools = toolsOf(agent, source.servers, folder, read, tell);
    const description = textOf(agent.fields['desc'] ?? agent.fields['description']);
    const prompt = textOf(agent.fields['system_prompt']);
    if (prompt === undefined) tell(agent.at, `${agent.name}: it has no prompt; a plain one was written.`);
    if (kindOf(agent) !== undefined)
      tell(
        [...agent.at, 'type'],
        `${agent.name}: agents of the type ${kindOf(agent) ?? ''} are made by a program; what the file says of ` +
          'it was taken.',
      );
    const own = slug(agent.name);
    const lead = teams.find((team) => team.leader === agent.name);
    files.push(
      {
        path: `agents/${own}.agent.yaml`,
        text: stringify(
          {
            version: 1,
            name: own,
            ...(description === undefined ? {} : { description }),
            model,
            prompt: `../prompts/${own}.md`,
            ...(tools.length === 0 ? {} : { tools }),
            ...(steps === undefined ? {} : { limits: { steps } }),
            ...(lead === undefined ? {} : { team: teamText(lead) }),
          },
          { lineWidth: 0 },
        ),
      },
      {
        path: `prompts/${own}.md`,
        text: `${prompt ?? `You are ${agent.name}.${description === undefined ? '' : ` ${description}`}`}\n`,
      },
    );
  }
  for (const team of teams) {
    if (team.leader === undefined)
      files.push({
        path: `agents/${slug(team.name)}.agent.yaml`,
        text: stringify({ version: 1, name: slug(team.name), team: teamText(team) }, { lineWidth: 0 }),
      });
  }
  const last = teams.at(-1);
  return {
    files,
    main: `agents/${slug(last?.leader ?? last?.name ?? source.agents[0]?.name ?? '')}.agent.yaml`,
    notes,
  };
}

/** What an agent of a task file is, where it is none that the file describes. */
function kindOf({ fields }: SourceAgent): string | undefined {
  const type = textOf(fields['type']);
  return type === 'skill' || type === 'predefined' ? type : undefined;
}

/** Kinds of servers that are none of MCP. */
const FOREIGN: Readonly<Record<string, string>> = {
  api: 'a plain HTTP interface, of which rollout tool openapi makes tools where it has a description',
  function_tool: 'functions of a program in Python',
};

/** Entries of `tools:`: the servers that `mcp_servers` names, or all. */
function toolsOf(
  { name, fields, at }: SourceAgent,
  fileServers: Json | undefined,
  folder: string,
  read: (path: string) => string,
  tell: Tell,
): Json[] {
  const own = fields['mcp_config'] ?? undefined;
  const place = own === undefined ? ['mcp_config'] : [...at, 'mcp_config'];
  const wanted = namesIn(fields['mcp_servers']);
  const only = isJsonObject(fields['tool_list']) ? fields['tool_list'] : {};
  const named = wanted ?? (Object.keys(only).length === 0 ? undefined : Object.keys(only));
  const config = serversOf(own ?? fileServers, read);
  if (config === undefined) {
    if (named !== undefined && named.length > 0)
      tell(
        [...at, 'mcp_servers'],
        `${name}: no \`mcp_config\` says what its servers ${named.join(', ')} are; add them with rollout tool add.`,
      );
    return [];
  }
  const foreign = new Map(
    Object.entries(config).flatMap(([server, one]): [string, string][] => {
      const what = isJsonObject(one) ? FOREIGN[textOf(one['type']) ?? ''] : undefined;
      return what === undefined ? [] : [[server, `it is ${what}`]];
    }),
  );
  const usable = Object.fromEntries(Object.entries(config).filter(([server]) => !foreign.has(server)));
  const { found, unusable } = clientServers('mcp_config', JSON.stringify({ mcpServers: usable }), folder);
  const whyNot = new Map([...foreign, ...unusable.map((one): [string, string] => [one.name, one.why])]);
  const entries = new Map<string, FoundServer>(found.map((one) => [one.name, one]));
  for (const server of named ?? Object.keys(config))
    if (!entries.has(server))
      tell(
        place,
        `${name}: its server ${server} cannot be used: ${whyNot.get(server) ?? 'mcp_config does not name it'}.`,
      );
  if (isJsonObject(fields['black_tool_actions']) && Object.keys(fields['black_tool_actions']).length > 0)
    tell(
      [...at, 'black_tool_actions'],
      `${name}: tools that it must not call are told here by \`tools:\` of the entry, which lists those it may.`,
    );
  return [...entries.values()]
    .filter((one) => named === undefined || named.includes(one.name))
    .map(({ name: server, server: mcp, notes: told }) => {
      for (const note of told) tell(place, `${name}, ${server}: ${note}`);
      const one = config[server];
      const timeouts = isJsonObject(one) ? Object.keys(one).filter((key) => /timeout/.test(key)) : [];
      if (timeouts.length > 0)
        tell(
          place,
          `${name}, ${server}: ${timeouts.map((key) => `\`${key}\``).join(', ')}: how long a call may take is ` +
            '`limits.tool_seconds` of the agent here.',
        );
      const list = namesIn(only[server]);
      // texts and lists of texts
      return newEntry(server, mcp, list === undefined || list.length === 0 ? undefined : list) as unknown as Json;
    });
}

/** Names in a list, or in one text with commas; undefined: none are told. */
function namesIn(value: Json | undefined): string[] | undefined {
  if (Array.isArray(value)) return value.map(String);
  const text = textOf(value);
  if (text === undefined) return undefined;
  const list = /^\s*\[/.test(text) ? jsonOf(text) : undefined;
  return Array.isArray(list)
    ? list.map(String)
    : text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '');
}

/** Servers by their names: in a mapping, with `mcpServers` above it or without, as JSON in a text, or in a file. */
function serversOf(config: Json | undefined, read: (path: string) => string): JsonObject | undefined {
  if (config === undefined || config === null) return undefined;
  const value = typeof config !== 'string' ? config : jsonOf(/^\s*\{/.test(config) ? config : read(config));
  if (!isJsonObject(value))
    throw new StudioError(
      'config',
      `\`mcp_config\`${typeof config === 'string' && !/^\s*\{/.test(config) ? ` (${config})` : ''} is no mapping ` +
        'of servers.',
      { hint: 'It should be JSON with `mcpServers`.' },
    );
  const inner = value['mcpServers'] ?? value['servers'];
  return isJsonObject(inner) ? inner : value;
}

/** Names as our files have them, each once. */
function slugs(names: readonly string[]): Map<string, string> {
  const made = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of names) {
    let slug = slugOf(name);
    for (let number = 2; taken.has(slug); number++) slug = `${slugOf(name)}-${number}`;
    taken.add(slug);
    made.set(name, slug);
  }
  return made;
}

function slugOf(name: string): string {
  const slug = name
    .trim()
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/-+$/, '');
  return slug === '' ? 'agent' : slug;
}
