/** Builds the items of the Agents and Tools view from agent files, even if they have problems. */

import { isJsonObject } from '../../../common/json.ts';
import { plural } from '../../../common/text.ts';
import { basename, dirname, joinPath } from '../../../config/paths.ts';
import { BUILTINS } from '../../../config/schema/toolEntry.ts';
import { type Path, parseFile } from '../../../config/source/parse.ts';
import { moduleTools, type ReadText } from '../../../config/tools/toolModules.ts';
import { toolsOfSources, worldToolSources } from '../../../config/tools/worldTools.ts';
import { type SimulationRef, simulationRef } from '../../worlds/simulationRef.ts';
import type { ItemContent } from '../itemContent.ts';
import { partItem, promptItem } from '../worlds/promptNodes.ts';
import { READ_AT_LAUNCH, toolCountText } from '../worlds/worldNodes.ts';

/** A 1-based position in a file. */
interface Location {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

export interface AgentNode {
  readonly kind: 'agent' | 'source' | 'tool' | 'prompt';
  readonly item: ItemContent;
  /** Position that a click opens. */
  readonly location: Location;
  readonly children: readonly AgentNode[];
  /** Of a simulated world: a click shows its prompt at this heading instead. */
  readonly preview?: string;
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
  const locationAt = (at: Path): Location => {
    const { line, column } = parsed.valueRange(at);
    return { path, line, column };
  };
  const entries = Array.isArray(file['tools']) ? file['tools'] : [];
  const team = isJsonObject(file['team']) ? file['team'] : {};
  const members = Array.isArray(team['members']) ? team['members'] : [];
  const [own, reached] = await Promise.all([
    Promise.all(entries.map((entry, index) => sourceNode(entry, path, locationAt(['tools', index]), readText))),
    Promise.all(worlds.map((world) => worldNode(world, readText))),
  ]);
  const children = [
    ...members.map((member, index) => memberNode(member, locationAt(['team', 'members', index]))),
    ...own,
    ...reached,
  ];
  const name = typeof file['name'] === 'string' ? file['name'] : basename(path).replace(/\.agent\.\w+$/i, '');
  const model = isJsonObject(file['model']) && typeof file['model']['name'] === 'string' ? file['model']['name'] : '';
  const count = (node: AgentNode | undefined): number =>
    node?.children.filter(({ kind }) => kind === 'tool').length ?? 0;
  // An attempt is in one of the worlds.
  const tools = own.reduce((sum, node) => sum + count(node), 0) + Math.max(0, ...reached.map(count));
  const kind = typeof team['kind'] === 'string' ? `${team['kind']} of ${members.length}` : '';
  const description = [model, kind, tools > 0 ? plural(tools, 'tool') : ''].filter((part) => part !== '').join(' · ');
  return {
    kind: 'agent',
    location: locationAt(['name']),
    children: children.filter((child) => child !== undefined),
    item: {
      label: name,
      description,
      icon: parsed.problems.length > 0 ? { id: 'warning', color: 'list.warningForeground' } : { id: 'hubot' },
      context: 'agent',
      tooltip: parsed.problems[0]?.message === undefined ? path : `${path}\n${parsed.problems[0].message}`,
      ariaLabel: `Agent ${name}${description === '' ? '' : `, ${description}`}`,
    },
  };
}

/** Builds the item of a team member. */
function memberNode(member: unknown, location: Location): AgentNode | undefined {
  const entry: Readonly<Record<string, unknown>> = isJsonObject(member) ? member : { agent: member };
  if (typeof entry['agent'] !== 'string') return undefined;
  const label =
    typeof entry['name'] === 'string' ? entry['name'] : basename(entry['agent']).replace(/\.agent\.\w+$/i, '');
  return {
    kind: 'source',
    location,
    children: [],
    item: {
      label,
      description: 'member',
      tooltip: joinPath(dirname(location.path), entry['agent']),
      icon: { id: 'organization' },
      context: 'teamMember',
      ariaLabel: `Member ${label}`,
    },
  };
}

async function sourceNode(
  entry: unknown,
  agent: string,
  location: Location,
  readText: ReadText,
): Promise<AgentNode | undefined> {
  if (!isJsonObject(entry)) return undefined;
  if (typeof entry['module'] === 'string') {
    const path = joinPath(dirname(agent), entry['module']);
    const label = basename(path);
    const tools = await moduleTools(path, 'exported', readText);
    if (tools === undefined) return { kind: 'source', location, children: [], item: missing(label, path) };
    return {
      kind: 'source',
      location: { path, line: 1, column: 1 },
      children: tools.map((tool) => toolNode(tool.name, tool, tool.description)),
      item: {
        label,
        description: plural(tools.length, 'tool'),
        tooltip: path,
        icon: { id: 'file-code' },
        context: 'toolModule',
        ariaLabel: `Module ${label}, ${plural(tools.length, 'tool')}`,
      },
    };
  }
  if (Array.isArray(entry['builtin'])) {
    const names = entry['builtin'].filter((name): name is string => typeof name === 'string');
    const children = names.map((name) =>
      toolNode(name, location, BUILTINS.some((builtin) => builtin === name) ? undefined : 'unknown built-in tool set'),
    );
    return {
      kind: 'source',
      location,
      children,
      item: {
        label: 'built in',
        description: plural(children.length, 'tool'),
        icon: { id: 'package' },
        context: 'toolBuiltin',
        ariaLabel: `Built in, ${plural(children.length, 'tool')}`,
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
      location,
      children: only.map((name) => toolNode(name, location, undefined)),
      item: {
        label,
        description: summary,
        tooltip: `MCP server: ${summary}`,
        icon: { id: 'plug' },
        context: 'toolMcp',
        ariaLabel: `MCP server ${label}, ${summary}`,
      },
    };
  }
  return undefined;
}

async function worldNode(path: string, readText: ReadText): Promise<AgentNode | undefined> {
  const location: Location = { path, line: 1, column: 1 };
  const text = await readText(path);
  const fallback = basename(path).replace(/\.world\.\w+$/i, '');
  if (text === undefined) return { kind: 'source', location, children: [], item: missing(fallback, path) };
  const { parsed, sources } = await worldToolSources(path, text, readText);
  const file = isJsonObject(parsed.value) ? parsed.value : {};
  const label = typeof file['name'] === 'string' ? file['name'] : fallback;
  const simulation = simulationRef(parsed);
  const { tools, complete } = toolsOfSources(sources);
  const summary = [
    ...(simulation === undefined ? ['world'] : ['simulated', simulation.domain]),
    sources.length === 0 ? '' : toolCountText({ known: tools.length, complete }), // otherwise those of its scenarios
  ].filter((each) => each !== '');
  return {
    kind: 'source',
    location,
    children: [
      ...(simulation === undefined ? [] : [promptNode(simulation, location)]),
      ...tools.map((tool) => toolNode(tool.name, tool, tool.description)),
    ],
    item: {
      label,
      description: summary.join(' · '),
      tooltip: sources.length === 0 || complete ? path : `${path}\n${READ_AT_LAUNCH}`,
      icon: { id: 'globe' },
      context: 'toolWorld',
      ariaLabel: [`World ${label}`, ...summary.filter((each) => each !== 'world')].join(', '),
    },
  };
}

/** `location`: of the world file. */
function promptNode(simulation: SimulationRef, location: Location): AgentNode {
  return {
    kind: 'prompt',
    location,
    preview: '',
    item: promptItem(simulation),
    children: simulation.parts.map((part) => ({
      kind: 'prompt',
      location: part.place ?? location,
      ...(part.place === undefined ? { preview: part.heading } : {}),
      item: partItem(part),
      children: [],
    })),
  };
}

function missing(label: string, path: string): ItemContent {
  return {
    label,
    description: 'not found',
    tooltip: path,
    icon: { id: 'error', color: 'list.errorForeground' },
    context: 'toolMissing',
    ariaLabel: `${label}, not found`,
  };
}

function toolNode(name: string, location: Location, description: string | undefined): AgentNode {
  return {
    kind: 'tool',
    location: { path: location.path, line: location.line, column: location.column },
    children: [],
    item: {
      label: name,
      ...(description === undefined ? {} : { description, tooltip: `${name}\n${description}` }),
      icon: { id: 'tools' },
      context: 'tool',
      ariaLabel: `Tool ${name}${description === undefined ? '' : `, ${description}`}`,
    },
  };
}
