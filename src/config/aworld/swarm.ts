/** An AWorld swarm as `team:` of ours: workflow, handoff, team (leader), with parallel, serial and nested groups. */

import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';
import { plainText, type Tell, textOf } from './texts.ts';

export interface SwarmMember {
  readonly name: string;
  readonly after?: readonly string[];
  readonly to?: readonly string[];
}

/** A team that needs a file of its own, or whose leader's file has it. */
export interface SwarmTeam {
  readonly name: string;
  readonly kind: 'workflow' | 'handoff' | 'leader';
  /** Of a leader: whose file it is. */
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
/** Keys of a swarm, or of a node of one, that are read. */
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

/** A part of a swarm with where it stands. */
interface Place {
  readonly at: Path;
  readonly value: Json;
}

/** The ids of the agents that a swarm names: those of its nodes that are no groups. */
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
 * Teams of a swarm, the outermost one last. `name`: of that one. Throws StudioError `config` for a type that is none,
 * and for names of agents that are not there.
 */
export function teamsOf(
  file: string,
  name: string,
  swarm: JsonObject,
  agents: readonly string[],
  tell: Tell,
): readonly SwarmTeam[] {
  const teams: SwarmTeam[] = [];
  const known = new Set(agents);
  /** What stands for the id of a group: its leader, or the file of its own. */
  const stands = new Map<string, string>();
  /** Nodes by their ids, until they have their place: groups name one another. */
  const nodes = new Map<string, Place>();
  const need = (id: string): string => {
    const one = stands.get(id) ?? id;
    if (!known.has(one))
      throw new StudioError('config', `${file}: the swarm names \`${id}\`, which is none of its agents.`, {
        hint: `Its agents are ${agents.join(', ')}.`,
      });
    return one;
  };

  const team = (called: string, group: JsonObject, at: Path): SwarmTeam => {
    const type = textOf(group['type'] ?? group['swarm_type']) ?? 'workflow';
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    if (kind === undefined)
      throw new StudioError('config', `${file}: a swarm has the type \`${type}\`.`, {
        hint: `It should be one of ${Object.keys(KINDS).join(', ')}.`,
      });
    if (type === 'hybrid')
      tell(at, `${called}: in a hybrid swarm members also speak to one another; here they speak to their leader.`);
    for (const key of Object.keys(group).filter((one) => !USED.has(one)))
      tell([...at, key], `${called}: \`${key}\` of a swarm has no place here.`);
    const { stages, edges } = orderOf(called, group, at);
    if (kind === 'leader') {
      const all = [...new Set(stages.flat())];
      const root = textOf(group['root_agent'] ?? group['root']);
      const leader = root === undefined ? all[0] : need(root);
      if (leader === undefined)
        throw new StudioError('config', `${file}: the team \`${called}\` has no members.`, {
          hint: 'Name `root` and `members`.',
        });
      const between = edges.filter(([from]) => from !== leader);
      if (between.length > 0)
        tell(
          [...at, 'edges'],
          `${called}: ${between.map(([from, to]) => `${from} → ${to}`).join(', ')}: in a team members do not ` +
            'speak to one another here, only to their leader.',
        );
      return { name: called, kind, leader, members: all.filter((one) => one !== leader).map((one) => ({ name: one })) };
    }
    const all = [...new Set([...stages.flat(), ...edges.flat()])];
    const members = all.map((one): SwarmMember => {
      if (kind === 'handoff')
        return edges.length === 0
          ? { name: one }
          : { name: one, to: edges.filter(([from]) => from === one).map(([, to]) => to) };
      if (edges.length > 0) return { name: one, after: edges.filter(([, to]) => to === one).map(([from]) => from) };
      const stage = stages.findIndex((names) => names.includes(one));
      // A member alone in its place comes after the one before it by itself.
      const before = stages[stage - 1] ?? [];
      return stages[stage]?.length === 1 && before.length <= 1 ? { name: one } : { name: one, after: before };
    });
    return { name: called, kind, members };
  };

  /** Stages one after another, and edges where they are told. */
  const orderOf = (
    called: string,
    group: JsonObject,
    at: Path,
  ): { readonly stages: readonly (readonly string[])[]; readonly edges: readonly (readonly [string, string])[] } => {
    const key =
      (['order', 'members', 'agents'] as const).find((one) => group[one] !== undefined && group[one] !== null) ??
      'agents';
    const own = list(group[key]).map((value, index): Place => ({ at: [...at, key, index], value }));
    for (const place of own) if (isJsonObject(place.value)) nodes.set(textOf(place.value['id']) ?? '', place);
    // What a group beside them names is in that group.
    const inside = new Set(
      own.flatMap(({ value }) =>
        isJsonObject(value) ? list(value['agents']).filter((one) => typeof one === 'string') : [],
      ),
    );
    const here = own.filter(({ value }) => !isJsonObject(value) || !inside.has(textOf(value['id']) ?? ''));
    const placed = here.map((place, index) => stageOf(called, place, index));
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

  const stageOf = (called: string, { at, value }: Place, index: number): string[] => {
    if (typeof value === 'string') return [placed(value, called, index)];
    if (Array.isArray(value))
      return value.map((one, step) => stageOf(called, { at: [...at, step], value: one }, index * 10 + step)).flat();
    if (!isJsonObject(value))
      throw new StudioError(
        'config',
        `${file}: the swarm \`${called}\` has a member that is neither a name nor a group.`,
        { hint: 'Write names of agents.' },
      );
    const id = textOf(value['id']) ?? `${called}-${index + 1}`;
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
        throw new StudioError('config', `${file}: \`${id}\` has the node_type \`${plainText(value['node_type'])}\`.`, {
          hint: `It should be one of ${NODES.join(', ')}.`,
        });
    }
  };

  /** A name: of an agent, or of a group that stands elsewhere. */
  const placed = (id: string, called: string, index: number): string => {
    const place = nodes.get(id);
    return known.has(id) || stands.has(id) || place === undefined ? need(id) : (stageOf(called, place, index)[0] ?? id);
  };

  const nested = (id: string, at: Path, group: JsonObject): string => {
    const before = stands.get(id);
    if (before !== undefined) return before;
    const made = team(id, group, at);
    teams.push(made);
    known.add(id);
    const name = made.leader ?? id;
    stands.set(id, name);
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
