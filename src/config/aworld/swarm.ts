/** An AWorld swarm as `team:` of ours: workflow, handoff, team (leader), with parallel and nested groups. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { StudioError } from '../../common/errors.ts';
import { plainText, textOf } from './source.ts';

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

export interface Teams {
  /** The outermost one is the last. */
  readonly teams: readonly SwarmTeam[];
  readonly notes: readonly string[];
}

const KINDS: Readonly<Record<string, SwarmTeam['kind']>> = { workflow: 'workflow', handoff: 'handoff', team: 'leader', hybrid: 'leader' };

/** `name`: of the outermost team. Throws StudioError `config` for a type that is none, and for names of agents that are not there. */
export function teamsOf(file: string, name: string, swarm: JsonObject, agents: readonly string[]): Teams {
  const notes: string[] = [];
  const teams: SwarmTeam[] = [];
  const known = new Set(agents);
  const need = (one: string): string => {
    if (!known.has(one)) throw new StudioError('config', `${file}: the swarm names \`${one}\`, which is none of its agents.`, { mend: `Its agents are ${agents.join(', ')}.` });
    return one;
  };

  const team = (called: string, group: JsonObject): SwarmTeam => {
    const type = textOf(group['type'] ?? group['swarm_type']) ?? 'workflow';
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    if (kind === undefined) throw new StudioError('config', `${file}: a swarm has the type \`${type}\`.`, { mend: `It should be one of ${Object.keys(KINDS).join(', ')}.` });
    if (type === 'hybrid') notes.push(`${called}: in a hybrid swarm members also speak to one another; here they speak to their leader.`);
    const { stages, edges } = orderOf(called, group);
    if (kind === 'leader') {
      const all = [...new Set(stages.flat())];
      const leader = textOf(group['root_agent'] ?? group['root']) ?? all[0];
      if (leader === undefined) throw new StudioError('config', `${file}: the team \`${called}\` has no members.`, { mend: 'Name `root` and `members`.' });
      return { name: called, kind, leader: need(leader), members: all.filter((one) => one !== leader).map((one) => ({ name: one })) };
    }
    const all = [...new Set([...stages.flat(), ...edges.flat()])];
    const members = all.map((one): SwarmMember => {
      if (kind === 'handoff') return edges.length === 0 ? { name: one } : { name: one, to: edges.filter(([from]) => from === one).map(([, to]) => to) };
      if (edges.length > 0) return { name: one, after: edges.filter(([, to]) => to === one).map(([from]) => from) };
      const at = stages.findIndex((stage) => stage.includes(one));
      // A member alone in its place comes after the one before it by itself.
      const before = stages[at - 1] ?? [];
      return stages[at]?.length === 1 && before.length <= 1 ? { name: one } : { name: one, after: before };
    });
    return { name: called, kind, members };
  };

  /** Stages one after another, and edges where they are told. */
  const orderOf = (called: string, group: JsonObject): { readonly stages: readonly (readonly string[])[]; readonly edges: readonly (readonly [string, string])[] } => {
    const nodes = list(group['order'] ?? group['members'] ?? group['agents']);
    const root = textOf(group['root_agent'] ?? group['root']);
    const stages = [...(root === undefined ? [] : [[need(root)]]), ...nodes.map((node, index) => stageOf(called, node, index))];
    const edges = [...list(group['edges']).map(edgeOf), ...nodes.flatMap((node): [string, string][] => {
      const from = isJsonObject(node) ? textOf(node['id']) : undefined;
      return from === undefined ? [] : list(isJsonObject(node) ? node['next'] : undefined).map((to) => [from, plainText(to)]);
    })];
    for (const end of edges.flat()) need(end);
    return { stages, edges };
  };

  const stageOf = (called: string, node: Json, index: number): string[] => {
    if (typeof node === 'string') return [need(node)];
    if (Array.isArray(node)) return node.map((one, at) => stageOf(called, one, index * 10 + at)).flat();
    if (!isJsonObject(node)) throw new StudioError('config', `${file}: the swarm \`${called}\` has a member that is neither a name nor a group.`, { mend: 'Write names of agents.' });
    const id = textOf(node['id']) ?? `${called}-${index + 1}`;
    switch (node['node_type'] ?? 'agent') {
      case 'parallel':
        return list(node['agents']).flatMap((one, at) => stageOf(called, one, at));
      case 'serial':
        return nested(id, { type: 'workflow', order: node['agents'] ?? [] });
      case 'swarm':
        return nested(id, { ...node, type: node['swarm_type'] ?? 'workflow' });
      default:
        return [need(id)];
    }
  };

  const nested = (id: string, group: JsonObject): string[] => {
    const made = team(id, group);
    teams.push(made);
    known.add(id);
    return [made.leader ?? id];
  };

  teams.push(team(name, swarm));
  return { teams, notes };
}

function edgeOf(edge: Json): [string, string] {
  if (Array.isArray(edge)) return [plainText(edge[0]), plainText(edge[1])];
  return isJsonObject(edge) ? [plainText(edge['from']), plainText(edge['to'])] : [plainText(edge), ''];
}

function list(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}
