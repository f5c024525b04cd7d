/** Builds the items of the Agents and Tools view from agent files, even if they have problems. */

import { isJsonObject } from '../../../common/json.ts';
import { plural } from '../../../common/text.ts';
import { basename, dirname, joinPath } from '../../../config/paths.ts';
import { BUILTINS } from '../../../config/schema/toolEntry.ts';
import { type Path, parseFile } from '../../../config/source/parse.ts';
import { moduleTools, type ReadText } from '../../../config/tools/toolModules.ts';
import type { Look } from '../look.ts';

/** A 1-based position in a file. */
interface Spot {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

export interface AgentNode {
  readonly kind: 'agent' | 'source' | 'tool';
  readonly look: Look;
  /** Position that a click opens. */
  readonly spot: Spot;
  readonly children: readonly AgentNode[];
}

/** @param worlds Paths of world files that batches use with the agent, whose tools are included. */
export async function agentNode(
  path: string,
  text: string,
  worlds: readonly string[],
  readText: ReadText,
): Promise<AgentNode> {
  const parsed = parseFile(path, text);
  const file = isJsonObject(parsed.value) ? parsed.value : {};
  const spotAt = (at: Path): Spot => {
    const { line, column } = parsed.valueRange(at);
    return { path, line, column };
  };
  const entries = Array.isArray(file['tools']) ? file['tools'] : [];
  const team = isJsonObject(file['team']) ? file['team'] : {};
  const members = Array.isArray(team['members']) ? team['members'] : [];
  const sources = await Promise.all([
    ...entries.map((entry, index) => sourceNode(entry, path, spotAt(['tools', index]), readText)),
    ...worlds.map((world) => worldNode(world, readText)),
  ]);
  const children = [
    ...members.map((member, index) => memberNode(member, spotAt(['team', 'members', index]))),
    ...sources,
  ];
  const name = typeof file['name'] === 'string' ? file['name'] : basename(path).replace(/\.agent\.\w+$/i, '');
  const model = isJsonObject(file['model']) && typeof file['model']['name'] === 'string' ? file['model']['name'] : '';
  const tools = children.flatMap((child) => child?.children ?? []).length;
  const kind = typeof team['kind'] === 'string' ? `${team['kind']} of ${members.length}` : '';
  const description = [model, kind, tools > 0 ? plural(tools, 'tool') : ''].filter((part) => part !== '').join(' · ');
  return {
    kind: 'agent',
    spot: spotAt(['name']),
    children: children.filter((child) => child !== undefined),
    look: {
      label: name,
      description,
      icon: parsed.problems.length > 0 ? { id: 'warning', color: 'list.warningForeground' } : { id: 'hubot' },
      context: 'agent',
      tooltip: parsed.problems[0]?.message === undefined ? path : `${path}\n${parsed.problems[0].message}`,
      spoken: `Agent ${name}${description === '' ? '' : `, ${description}`}`,
    },
  };
}

/** Builds the item of a team member. */
function memberNode(member: unknown, spot: Spot): AgentNode | undefined {
  const entry: Readonly<Record<string, unknown>> = isJsonObject(member) ? member : { agent: member };
  if (typeof entry['agent'] !== 'string') return undefined;
  const label =
    typeof entry['name'] === 'string' ? entry['name'] : basename(entry['agent']).replace(/\.agent\.\w+$/i, '');
  return {
    kind: 'source',
    spot,
    children: [],
    look: {
      label,
      description: 'member',
      tooltip: joinPath(dirname(spot.path), entry['agent']),
      icon: { id: 'organization' },
      context: 'teamMember',
      spoken: `Member ${label}`,
    },
  };
}

async function sourceNode(
  entry: unknown,
  agent: string,
  spot: Spot,
  readText: ReadText,
): Promise<AgentNode | undefined> {
  if (!isJsonObject(entry)) return undefined;
  if (typeof entry['module'] === 'string') {
    const path = joinPath(dirname(agent), entry['module']);
    const label = basename(path);
    const tools = await moduleTools(path, 'exported', readText);
    if (tools === undefined) return { kind: 'source', spot, children: [], look: missing(label, path) };
    return {
      kind: 'source',
      spot: { path, line: 1, column: 1 },
      children: tools.map((tool) => toolNode(tool.name, tool, tool.description)),
      look: {
        label,
        description: plural(tools.length, 'tool'),
        tooltip: path,
        icon: { id: 'file-code' },
        context: 'toolModule',
        spoken: `Module ${label}, ${plural(tools.length, 'tool')}`,
      },
    };
  }
  if (Array.isArray(entry['builtin'])) {
    const names = entry['builtin'].filter((name): name is string => typeof name === 'string');
    const children = names.map((name) =>
      toolNode(name, spot, BUILTINS.some((builtin) => builtin === name) ? undefined : 'is not built in'),
    );
    return {
      kind: 'source',
      spot,
      children,
      look: {
        label: 'built in',
        description: plural(children.length, 'tool'),
        icon: { id: 'package' },
        context: 'toolBuiltin',
        spoken: `Built in, ${plural(children.length, 'tool')}`,
      },
    };
  }
  if (isJsonObject(entry['mcp'])) {
    const { command, args, url } = entry['mcp'];
    const words = Array.isArray(args) ? args.filter((arg): arg is string => typeof arg === 'string') : [];
    const summary =
      typeof url === 'string'
        ? url
        : [command, ...words].filter((word): word is string => typeof word === 'string').join(' ');
    const only = Array.isArray(entry['tools'])
      ? entry['tools'].filter((name): name is string => typeof name === 'string')
      : [];
    const label = typeof entry['name'] === 'string' ? entry['name'] : 'MCP server';
    return {
      kind: 'source',
      spot,
      children: only.map((name) => toolNode(name, spot, undefined)),
      look: {
        label,
        description: summary,
        tooltip: `MCP server: ${summary}`,
        icon: { id: 'plug' },
        context: 'toolMcp',
        spoken: `MCP server ${label}, ${summary}`,
      },
    };
  }
  return undefined;
}

async function worldNode(path: string, readText: ReadText): Promise<AgentNode | undefined> {
  const spot: Spot = { path, line: 1, column: 1 };
  const text = await readText(path);
  const fallback = basename(path).replace(/\.world\.\w+$/i, '');
  if (text === undefined) return { kind: 'source', spot, children: [], look: missing(fallback, path) };
  const { value } = parseFile(path, text);
  const file = isJsonObject(value) ? value : {};
  const label = typeof file['name'] === 'string' ? file['name'] : fallback;
  const tools =
    typeof file['module'] === 'string'
      ? ((await moduleTools(joinPath(dirname(path), file['module']), 'reached', readText)) ?? [])
      : [];
  const description = `world · ${plural(tools.length, 'tool')}`;
  return {
    kind: 'source',
    spot,
    children: tools.map((tool) => toolNode(tool.name, tool, tool.description)),
    look: {
      label,
      description,
      tooltip: path,
      icon: { id: 'globe' },
      context: 'toolWorld',
      spoken: `World ${label}, ${plural(tools.length, 'tool')}`,
    },
  };
}

function missing(label: string, path: string): Look {
  return {
    label,
    description: 'not found',
    tooltip: path,
    icon: { id: 'error', color: 'list.errorForeground' },
    context: 'toolMissing',
    spoken: `${label}, not found`,
  };
}

function toolNode(name: string, spot: Spot, description: string | undefined): AgentNode {
  return {
    kind: 'tool',
    spot: { path: spot.path, line: spot.line, column: spot.column },
    children: [],
    look: {
      label: name,
      ...(description === undefined ? {} : { description, tooltip: `${name}\n${description}` }),
      icon: { id: 'tools' },
      context: 'tool',
      spoken: `Tool ${name}${description === undefined ? '' : `, ${description}`}`,
    },
  };
}
