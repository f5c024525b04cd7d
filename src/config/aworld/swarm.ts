/** Converts AWorld swarms (workflow, handoff, team) with parallel, serial, and nested groups to `team:`. */

import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';
import { plainText, type Report, textOf } from './texts.ts';

interface SwarmMember {
  readonly name: string;
  readonly after?: readonly string[];
  readonly to?: readonly string[];
}

/** A team: in the file of its leader, or in its own file if it has no leader. */
export interface SwarmTeam {
  readonly name: string;
  readonly kind: 'workflow' | 'handoff' | 'leader';
  /** The leader, whose file contains the team. */
  readonly leader?: string;
  readonly members: readonly SwarmMember[];
}

const KINDS: Readonly<Record<string, SwarmTeam['kind']>> = {
  workflow: 'workflow',
  handoff: 'handoff',
  team: 'leader',
  hybrid: 'leader',
};
const NODES = ['agent', 'parallel', 'serial', 'swarm'] as const;
/** Keys of a swarm or one of its nodes that are converted. */
const USED = new Set([
  'name',
  'type',
  'swarm_type',
  'node_type',
  'id',
  'order',
  'members',
  'agents',
  'edges',
  'root',
  'root_agent',
  'next',
]);

/** A part of a swarm and its path. */
interface Place {
  readonly at: Path;
  readonly value: Json;
}

/** Returns the IDs of the agents in a swarm: its nodes that are not groups. */
export function swarmAgents(swarm: JsonObject): string[] {
  const groups = new Set<string>();
  const names = new Set<string>();
  const visit = (node: Json): void => {
    if (typeof node === 'string') names.add(node);
    else if (Array.isArray(node)) node.forEach(visit);
    else if (isJsonObject(node)) {
      const id = textOf(node['id']);
      if (id !== undefined) (kindOf(node) === 'agent' ? names : groups).add(id);
      for (const key of ['order', 'members', 'agents']) list(node[key]).forEach(visit);
    }
  };
  visit(swarm);
  for (const key of ['root', 'root_agent']) list(swarm[key]).forEach(visit);
  return [...names].filter((name) => !groups.has(name));
}

/**
 * Returns the teams of a swarm, the outermost one last, which is teamName `name`. Throws StudioError `config` for an
 * unknown swarm type and for names of agents that do not exist.
 */
export function teamsOf(
  file: string,
  name: string,
  swarm: JsonObject,
  agents: readonly string[],
  report: Report,
): readonly SwarmTeam[] {
  const teams: SwarmTeam[] = [];
  const agentNames = new Set(agents);
  /** The agent name that replaces the ID of a group: its leader, or its own file. */
  const groupNames = new Map<string, string>();
  /** Nodes by ID, collected first because groups refer to one another. */
  const nodes = new Map<string, Place>();
  const need = (id: string): string => {
    const one = groupNames.get(id) ?? id;
    if (!agentNames.has(one))
      throw new StudioError('config', `${file}: the swarm names \`${id}\`, but there is no such agent.`, {
        hint: `The agents are ${agents.join(', ')}.`,
      });
    return one;
  };

  const team = (teamName: string, group: JsonObject, at: Path): SwarmTeam => {
    const type = textOf(group['type'] ?? group['swarm_type']) ?? 'workflow';
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    if (kind === undefined)
      throw new StudioError('config', `${file}: unknown swarm type \`${type}\`.`, {
        hint: `Expected one of: ${Object.keys(KINDS).join(', ')}.`,
      });
    if (type === 'hybrid')
      report(at, `${teamName}: in a hybrid swarm, members also talk to each other; here they talk only to the leader.`);
    for (const key of Object.keys(group).filter((one) => !USED.has(one)))
      report([...at, key], `${teamName}: \`${key}\` of the swarm was left out: it has no equivalent.`);
    const { stages, edges } = orderOf(teamName, group, at);
    if (kind === 'leader') {
      const all = [...new Set(stages.flat())];
      const root = textOf(group['root_agent'] ?? group['root']);
      const leader = root === undefined ? all[0] : need(root);
      if (leader === undefined)
        throw new StudioError('config', `${file}: the team \`${teamName}\` has no members.`, {
          hint: 'Add `root` and `members`.',
        });
      const between = edges.filter(([from]) => from !== leader);
      if (between.length > 0)
        report(
          [...at, 'edges'],
          `${teamName}: ${between.map(([from, to]) => `${from} → ${to}`).join(', ')}: left out, because members of a ` +
            'team talk only to the leader.',
        );
      return {
        name: teamName,
        kind,
        leader,
        members: all.filter((one) => one !== leader).map((one) => ({ name: one })),
      };
    }
    const all = [...new Set([...stages.flat(), ...edges.flat()])];
    const members = all.map((one): SwarmMember => {
      if (kind === 'handoff')
        return edges.length === 0
          ? { name: one }
          : { name: one, to: edges.filter(([from]) => from === one).map(([, to]) => to) };
      if (edges.length > 0) return { name: one, after: edges.filter(([, to]) => to === one).map(([from]) => from) };
      const stage = stages.findIndex((names) => names.includes(one));
      // A single member follows the one before it by default.
      const before = stages[stage - 1] ?? [];
      return stages[stage]?.length === 1 && before.length <= 1 ? { name: one } : { name: one, after: before };
    });
    return { name: teamName, kind, members };
  };

  /** Returns the stages in order, and the edges that the group defines. */
  const orderOf = (
    teamName: string,
    group: JsonObject,
    at: Path,
  ): { readonly stages: readonly (readonly string[])[]; readonly edges: readonly (readonly [string, string])[] } => {
    const key =
      (['order', 'members', 'agents'] as const).find((one) => group[one] !== undefined && group[one] !== null) ??
      'agents';
    const own = list(group[key]).map((value, index): Place => ({ at: [...at, key, index], value }));
    for (const place of own) if (isJsonObject(place.value)) nodes.set(textOf(place.value['id']) ?? '', place);
    // A node that is also listed in a sibling group belongs to that group.
    const inside = new Set(
      own.flatMap(({ value }) =>
        isJsonObject(value) ? list(value['agents']).filter((one) => typeof one === 'string') : [],
      ),
    );
    const here = own.filter(({ value }) => !isJsonObject(value) || !inside.has(textOf(value['id']) ?? ''));
    const placed = here.map((place, index) => stageOf(teamName, place, index));
    const root = textOf(group['root_agent'] ?? group['root']);
    const stages = [...(root === undefined ? [] : [[need(root)]]), ...placed];
    const edges = [
      ...list(group['edges']).map(edgeOf),
      ...here.flatMap(({ value }): [string, string][] => {
        const from = isJsonObject(value) ? textOf(value['id']) : undefined;
        return from === undefined
          ? []
          : list(isJsonObject(value) ? value['next'] : undefined).map((to) => [from, plainText(to)]);
      }),
    ];
    return { stages, edges: edges.map(([from, to]): [string, string] => [need(from), need(to)]) };
  };

  const stageOf = (teamName: string, { at, value }: Place, index: number): string[] => {
    if (typeof value === 'string') return [memberName(value, teamName, index)];
    if (Array.isArray(value))
      return value.map((one, step) => stageOf(teamName, { at: [...at, step], value: one }, index * 10 + step)).flat();
    if (!isJsonObject(value))
      throw new StudioError('config', `${file}: a member of the swarm \`${teamName}\` is neither a name nor a group.`, {
        hint: 'Use names of agents.',
      });
    const id = textOf(value['id']) ?? `${teamName}-${index + 1}`;
    switch (kindOf(value)) {
      case 'agent':
        return [need(id)];
      case 'parallel':
        return [nested(id, at, { type: 'workflow', order: [[...list(value['agents'])]] })];
      case 'serial':
        return [nested(id, at, { type: 'workflow', order: value['agents'] ?? [] })];
      case 'swarm':
        return [nested(id, at, { ...value, type: value['swarm_type'] ?? 'workflow' })];
      case undefined:
        throw new StudioError(
          'config',
          `${file}: \`${id}\` has the unknown node_type \`${plainText(value['node_type'])}\`.`,
          {
            hint: `Expected one of: ${NODES.join(', ')}.`,
          },
        );
    }
  };

  /** Resolves a name, which may be that of an agent or of a group defined elsewhere. */
  const memberName = (id: string, teamName: string, index: number): string => {
    const place = nodes.get(id);
    return agentNames.has(id) || groupNames.has(id) || place === undefined
      ? need(id)
      : (stageOf(teamName, place, index)[0] ?? id);
  };

  const nested = (id: string, at: Path, group: JsonObject): string => {
    const before = groupNames.get(id);
    if (before !== undefined) return before;
    const nestedTeam = team(id, group, at);
    teams.push(nestedTeam);
    agentNames.add(id);
    const name = nestedTeam.leader ?? id;
    groupNames.set(id, name);
    return name;
  };

  teams.push(team(name, swarm, ['swarm']));
  return teams;
}

function kindOf(node: JsonObject): (typeof NODES)[number] | undefined {
  const written = node['node_type'] ?? 'agent';
  return NODES.find((kind) => kind === written);
}

function edgeOf(edge: Json): [string, string] {
  if (Array.isArray(edge)) return [plainText(edge[0]), plainText(edge[1])];
  return isJsonObject(edge) ? [plainText(edge['from']), plainText(edge['to'])] : [plainText(edge), ''];
}

function list(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}
