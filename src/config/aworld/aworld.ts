/**
 * Converts AWorld agents to agent files: agents, task, and swarm YAML, and Markdown agents, with their MCP servers
 * (`mcp_config`) and swarms. Everything without a counterpart is listed in the notes, never dropped silently. Pure.
 */
import { stringify } from 'yaml';
import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject, jsonOf } from '../../common/json.ts';
import { clientServers, type FoundServer } from '../tools/mcp/clientFile.ts';
import { newEntry } from '../tools/mcp/newEntry.ts';
import { settingsOf } from './model.ts';
import { readSource, type SourceAgent } from './source.ts';
import { type SwarmTeam, teamsOf } from './swarm.ts';
import { type Report, textOf } from './texts.ts';

export interface AworldImport {
  /** Relative paths with `/`: `agents/NAME.agent.yaml`, `prompts/NAME.md`. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** The agent file that a batch should name. */
  readonly main: string;
  /** Shown to the user: keys to set, parts that were left out. */
  readonly notes: readonly string[];
}

/**
 * Converts one AWorld file. `folder` replaces `${workspaceFolder}` in server entries; `read` returns the text of a
 * file that `mcp_config` names. Throws StudioError `config`.
 */
export function importAworld(file: string, text: string, folder: string, read: (path: string) => string): AworldImport {
  const source = readSource(file, text);
  const names = slugs(source.agents.map(({ name }) => name));
  const slug = (name: string): string => names.get(name) ?? name;
  const files: { path: string; text: string }[] = [];
  const notes: string[] = [];
  const report: Report = (at, note) => void notes.push(`${source.place(at)}: ${note}`);
  for (const at of source.left)
    report(
      at,
      `\`${at.join('.')}\` was left out: ${at[0] === 'task' ? 'tasks belong in a dataset' : 'it has no equivalent'}.`,
    );
  const base = slugOf(file.replace(/^.*[/\\]/, '').replace(/\.\w+$/, ''));
  const swarmName = source.swarm === undefined ? undefined : textOf(source.swarm['name']);
  const outermost =
    [swarmName === undefined ? undefined : slugOf(swarmName), base, `${base}-team`].find(
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
          report,
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
    const { model, steps } = settingsOf(agent, source.steps, report);
    const tools = toolsOf(agent, source.servers, folder, read, report);
    const description = textOf(agent.fields['desc'] ?? agent.fields['description']);
    const prompt = textOf(agent.fields['system_prompt']);
    if (prompt === undefined) report(agent.at, `${agent.name}: no prompt found; added a placeholder prompt.`);
    if (kindOf(agent) !== undefined)
      report(
        [...agent.at, 'type'],
        `${agent.name}: agents of type ${kindOf(agent) ?? ''} are created by a program; only the settings in this ` +
          'file were imported.',
      );
    const ownName = slug(agent.name);
    const ledTeam = teams.find((team) => team.leader === agent.name);
    files.push(
      {
        path: `agents/${ownName}.agent.yaml`,
        text: stringify(
          {
            version: 1,
            name: ownName,
            ...(description === undefined ? {} : { description }),
            model,
            prompt: `../prompts/${ownName}.md`,
            ...(tools.length === 0 ? {} : { tools }),
            ...(steps === undefined ? {} : { limits: { steps } }),
            ...(ledTeam === undefined ? {} : { team: teamText(ledTeam) }),
          },
          { lineWidth: 0 },
        ),
      },
      {
        path: `prompts/${ownName}.md`,
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

/** Returns the type of an agent that a task file only refers to; undefined if the file describes the agent itself. */
function kindOf({ fields }: SourceAgent): string | undefined {
  const type = textOf(fields['type']);
  return type === 'skill' || type === 'predefined' ? type : undefined;
}

/** AWorld server types that are not MCP. */
const FOREIGN: Readonly<Record<string, string>> = {
  api: 'a plain HTTP API; if it has an OpenAPI description, rollout tool openapi turns it into tools',
  function_tool: 'a set of Python functions',
};

/** Returns the entries for `tools:`: the servers that `mcp_servers` names, or all of them. */
function toolsOf(
  { name, fields, at }: SourceAgent,
  fileServers: Json | undefined,
  folder: string,
  read: (path: string) => string,
  report: Report,
): Json[] {
  const ownName = fields['mcp_config'] ?? undefined;
  const place = ownName === undefined ? ['mcp_config'] : [...at, 'mcp_config'];
  const requested = namesIn(fields['mcp_servers']);
  const only = isJsonObject(fields['tool_list']) ? fields['tool_list'] : {};
  const named = requested ?? (Object.keys(only).length === 0 ? undefined : Object.keys(only));
  const config = serversOf(ownName ?? fileServers, read);
  if (config === undefined) {
    if (named !== undefined && named.length > 0)
      report(
        [...at, 'mcp_servers'],
        `${name}: the file has no \`mcp_config\` for ${named.join(', ')}; add these servers with rollout tool add.`,
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
      report(place, `${name}: cannot use the server ${server}: ${whyNot.get(server) ?? 'it is not in mcp_config'}.`);
  if (isJsonObject(fields['black_tool_actions']) && Object.keys(fields['black_tool_actions']).length > 0)
    report(
      [...at, 'black_tool_actions'],
      `${name}: blocked tools were not imported; list the allowed tools under \`tools:\` of the entry instead.`,
    );
  return [...entries.values()]
    .filter((one) => named === undefined || named.includes(one.name))
    .map(({ name: server, server: mcp, notes: serverNotes }) => {
      for (const note of serverNotes) report(place, `${name}, ${server}: ${note}`);
      const one = config[server];
      const timeouts = isJsonObject(one) ? Object.keys(one).filter((key) => /timeout/.test(key)) : [];
      if (timeouts.length > 0)
        report(
          place,
          `${name}, ${server}: ${timeouts.map((key) => `\`${key}\``).join(', ')}: set \`limits.tool_seconds\` of the ` +
            'agent instead; it limits the time of a call.',
        );
      const list = namesIn(only[server]);
      // contains only strings and lists of strings
      return newEntry(server, mcp, list === undefined || list.length === 0 ? undefined : list) as unknown as Json;
    });
}

/** Returns the names in a list or a comma-separated string; undefined if there is no value. */
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

/** Returns servers by name: from a mapping (with or without `mcpServers`), a JSON string, or a file. */
function serversOf(config: Json | undefined, read: (path: string) => string): JsonObject | undefined {
  if (config === undefined || config === null) return undefined;
  const value = typeof config !== 'string' ? config : jsonOf(/^\s*\{/.test(config) ? config : read(config));
  if (!isJsonObject(value))
    throw new StudioError(
      'config',
      `\`mcp_config\`${typeof config === 'string' && !/^\s*\{/.test(config) ? ` (${config})` : ''} does not contain ` +
        'a mapping of servers.',
      { hint: 'Use JSON with `mcpServers`.' },
    );
  const inner = value['mcpServers'] ?? value['servers'];
  return isJsonObject(inner) ? inner : value;
}

/** Returns a unique name, valid in agent files, for each source name. */
function slugs(names: readonly string[]): Map<string, string> {
  const unique = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of names) {
    let slug = slugOf(name);
    for (let number = 2; taken.has(slug); number++) slug = `${slugOf(name)}-${number}`;
    taken.add(slug);
    unique.set(name, slug);
  }
  return unique;
}

function slugOf(name: string): string {
  const slug = name
    .trim()
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/-+$/, '');
  return slug === '' ? 'agent' : slug;
}
