/**
 * Agents of AWorld as agent files: its agents, task and swarm YAML and its Markdown agents, with their MCP servers
 * (`mcp_config`) and swarms. What has no place here is told, never dropped in silence. Pure.
 */
import { stringify } from 'yaml';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { clientServers, type FoundServer } from '../tools/mcp/clientFile.ts';
import { newEntry } from '../tools/mcp/newEntry.ts';
import { settingsOf } from './model.ts';
import { readSource, textOf, type SourceAgent } from './source.ts';
import { teamsOf, type SwarmTeam } from './swarm.ts';

export interface AworldImport {
  /** Relative paths with `/`: `agents/NAME.agent.yaml`, `prompts/NAME.md`. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** What a batch would name. */
  readonly main: string;
  /** What people should know: keys to set, parts that were left out. */
  readonly notes: readonly string[];
}

/** `folder`: what servers' `${workspaceFolder}` means. `read`: the text of a file that `mcp_config` names. Throws StudioError `config`. */
export function importAworld(file: string, text: string, folder: string, read: (path: string) => string): AworldImport {
  const source = readSource(file, text);
  const names = slugs(source.agents.map(({ name }) => name));
  const slug = (name: string): string => names.get(name) ?? name;
  const files: { path: string; text: string }[] = [];
  const notes: string[] = [];
  const base = slugOf(file.replace(/^.*[/\\]/, '').replace(/\.\w+$/, ''));
  const given = source.swarm === undefined ? undefined : textOf(source.swarm['name']);
  const outermost = [given === undefined ? undefined : slugOf(given), base, `${base}-team`].find((name) => name !== undefined && ![...names.values()].includes(name)) ?? `${base}-team`;
  const swarm = source.swarm === undefined ? undefined : teamsOf(file, outermost, source.swarm, source.agents.map(({ name }) => name));
  notes.push(...(swarm?.notes ?? []));
  const teamText = (team: SwarmTeam): JsonObject => ({
    kind: team.kind,
    members: team.members.map(({ name, after, to }) => {
      const agent = `${slug(name)}.agent.yaml`;
      return after === undefined && to === undefined ? agent : { agent, ...(after === undefined ? {} : { after: after.map(slug) }), ...(to === undefined ? {} : { to: to.map(slug) }) };
    }),
  });

  for (const agent of source.agents) {
    const { model, steps, notes: told } = settingsOf(agent, source.steps);
    const tools = toolsOf(agent, source.servers, folder, read, notes);
    notes.push(...told);
    const description = textOf(agent.fields['desc'] ?? agent.fields['description']);
    const prompt = textOf(agent.fields['system_prompt']);
    if (prompt === undefined) notes.push(`${agent.name}: it has no prompt; a plain one was written.`);
    const own = slug(agent.name);
    const lead = swarm?.teams.find((team) => team.leader === agent.name);
    files.push({
      path: `agents/${own}.agent.yaml`,
      text: stringify({
        version: 1, name: own, ...(description === undefined ? {} : { description }), model,
        prompt: `../prompts/${own}.md`, ...(tools.length === 0 ? {} : { tools }),
        ...(steps === undefined ? {} : { limits: { steps } }), ...(lead === undefined ? {} : { team: teamText(lead) }),
      }, { lineWidth: 0 }),
    }, { path: `prompts/${own}.md`, text: `${prompt ?? `You are ${agent.name}.${description === undefined ? '' : ` ${description}`}`}\n` });
  }
  for (const team of swarm?.teams ?? []) {
    if (team.leader === undefined) files.push({ path: `agents/${slug(team.name)}.agent.yaml`, text: stringify({ version: 1, name: slug(team.name), team: teamText(team) }, { lineWidth: 0 }) });
  }
  const last = swarm?.teams.at(-1);
  return { files, main: `agents/${slug(last?.leader ?? last?.name ?? source.agents[0]?.name ?? '')}.agent.yaml`, notes };
}

/** Entries of `tools:`: the servers that `mcp_servers` names, or all. */
function toolsOf({ name, fields }: SourceAgent, fileServers: Json | undefined, folder: string, read: (path: string) => string, notes: string[]): Json[] {
  const config = fields['mcp_config'] ?? fileServers;
  const wanted = Array.isArray(fields['mcp_servers']) ? fields['mcp_servers'].map(String) : undefined;
  if (config === undefined || config === null) {
    if (wanted !== undefined && wanted.length > 0) notes.push(`${name}: no \`mcp_config\` says what its servers ${wanted.join(', ')} are; add them with rollout tool add.`);
    return [];
  }
  const json = typeof config === 'string' ? (/^\s*\{/.test(config) ? config : read(config)) : JSON.stringify(config);
  const { found, unusable } = clientServers('mcp_config', json, folder);
  const entries = new Map<string, FoundServer>(found.map((one) => [one.name, one]));
  for (const one of wanted?.filter((server) => !entries.has(server)) ?? []) notes.push(`${name}: its server ${one} cannot be used: ${unusable.find((other) => other.name === one)?.why ?? 'mcp_config does not name it'}.`);
  if (isJsonObject(fields['black_tool_actions'])) notes.push(`${name}: tools that it must not call are told here by \`tools:\` of the entry, which lists those it may.`);
  return [...entries.values()].filter((one) => wanted === undefined || wanted.includes(one.name)).map(({ name: server, server: mcp, notes: told }) => {
    notes.push(...told.map((note) => `${name}, ${server}: ${note}`));
    return newEntry(server, mcp) as unknown as Json; // texts and lists of texts
  });
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
  const slug = name.trim().replaceAll(/[^\w.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '').replace(/-+$/, '');
  return slug === '' ? 'agent' : slug;
}
