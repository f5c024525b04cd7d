/** Checks of a `team:` beyond its schema: the files of its members, and whether every member can get to work. */

import { basename } from '../paths.ts';
import type { AgentFile } from '../schema/agentFile.ts';
import { type MemberSection, memberSection, type TeamSection } from '../schema/teamSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { closest } from '../source/suggest.ts';
import type { AgentParts, LoadedAgent } from './agent.ts';
import { checkPattern } from './pattern.ts';
import type { Mention, Reading } from './reading.ts';

export interface LoadedMember extends Omit<MemberSection, 'agent' | 'name'> {
  readonly name: string;
  readonly agent: LoadedAgent;
  /** Path to the member in the file of the team. */
  readonly at: Path;
}

export interface LoadedTeam {
  readonly kind: TeamSection['kind'];
  readonly members: readonly LoadedMember[];
}

interface TeamParts {
  /** Members whose files could be read. */
  readonly members: readonly AgentParts[];
  /** Undefined if the team has errors. */
  readonly team: LoadedTeam | undefined;
}

/** A member before all checks are done. */
interface Draft {
  readonly section: MemberSection;
  readonly at: Path;
  readonly name: string | undefined;
  readonly parts: AgentParts | undefined;
}

/** Returns whether the agent of a file works itself, rather than only its team. */
export function worksItself(file: Pick<Partial<AgentFile>, 'prompt' | 'team'>): boolean {
  return (
    file.team === undefined ||
    file.team.kind === 'leader' ||
    (file.team.kind === 'handoff' && file.prompt !== undefined)
  );
}

/** Reads a team. `above`: the files that lead to this one, including itself. `readMember` reads a member's file. */
export async function readTeam(
  reading: Reading,
  parsed: ParsedFile,
  value: Partial<AgentFile> & { readonly team: TeamSection },
  above: readonly string[],
  readMember: (path: string, by: Mention) => Promise<AgentParts | undefined>,
): Promise<TeamParts> {
  const { team } = value;
  const drafts: Draft[] = [];
  for (const [index, entry] of team.members.entries()) {
    const section = memberSection(entry);
    const at: Path = ['team', 'members', index];
    const agentAt: Path = typeof entry === 'string' ? at : [...at, 'agent'];
    const path = await reading.locate(parsed, agentAt, section.agent);
    const cycleStart = path === undefined ? -1 : above.indexOf(path);
    if (path !== undefined && cycleStart !== -1) {
      const cycle = [...above.slice(cycleStart), path].map(basename).join(' → ');
      reading.report(parsed, agentAt, {
        code: 'conflict',
        message: `a team cannot be a member of itself: ${cycle}`,
        hint: 'Choose another agent, or use `loop` to let a member work repeatedly.',
      });
      continue;
    }
    const parts = path === undefined ? undefined : await readMember(path, { parsed, at: agentAt });
    drafts.push({ section, at, name: section.name ?? parts?.value.name, parts });
  }
  const problemsBefore = reading.problems.length;
  checkUnused(reading, parsed, value);
  checkMembers(reading, parsed, team, value, drafts);
  if (
    drafts.length === team.members.length &&
    drafts.every(({ name }) => name !== undefined) &&
    reading.problems.length === problemsBefore
  )
    checkReach(reading, parsed, value, drafts);
  const members = drafts.flatMap(({ section: { after, to, loop }, at, name, parts }): LoadedMember[] =>
    name === undefined || parts?.agent === undefined ? [] : [{ after, to, loop, name, agent: parts.agent, at }],
  );
  return {
    members: drafts.flatMap(({ parts }) => parts ?? []),
    team: members.length === team.members.length ? { kind: team.kind, members } : undefined,
  };
}

/** Reports keys that a team whose members do all the work cannot use. */
function checkUnused(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  if (worksItself(value)) return;
  const workflow = value.team?.kind === 'workflow';
  for (const key of ['prompt', 'model', 'tools', 'answer', 'context'] as const) {
    if (!parsed.has([key])) continue;
    reading.report(
      parsed,
      [key],
      {
        code: 'conflict',
        message: `\`${key}\` has no effect: the members of a ${value.team?.kind ?? 'team'} do all the work`,
        hint: workflow
          ? 'Remove it, or move it to a member.'
          : 'Remove it, or add a `prompt` so that this agent starts.',
      },
      'key',
    );
  }
}

function checkMembers(
  reading: Reading,
  parsed: ParsedFile,
  { kind }: TeamSection,
  value: Partial<AgentFile>,
  drafts: readonly Draft[],
): void {
  const names = new Set(drafts.flatMap(({ name }) => name ?? []));
  const own = worksItself(value) ? value.name : undefined;
  if (kind === 'handoff' && own !== undefined) names.add(own);
  const seen = new Set(own === undefined ? [] : [own]);
  for (const { section, at, name } of drafts) {
    if (name !== undefined) {
      if (seen.has(name))
        reading.report(parsed, section.name === undefined ? at : [...at, 'name'], {
          code: 'conflict',
          message: `two agents of this team are named \`${name}\``,
          hint: 'Add a unique `name:` to one of them, as in `{ agent: …, name: second }`.',
        });
      seen.add(name);
      if (kind !== 'workflow' && !/^[\w-]{1,48}$/.test(name))
        reading.report(parsed, at, {
          code: 'value',
          message: `\`${name}\` cannot be used in a tool name, which the other members need to reach it`,
          hint: 'Add a `name:` with only letters, digits, `-`, and `_`.',
        });
    }
    const unsupported = { workflow: ['to'], handoff: ['after'], leader: ['after', 'to'] } as const;
    for (const key of unsupported[kind]) {
      if (section[key] !== undefined)
        reading.report(
          parsed,
          [...at, key],
          { code: 'conflict', message: `\`${key}\` has no effect in a team of kind \`${kind}\``, hint: 'Remove it.' },
          'key',
        );
    }
    if (section.loop !== undefined) checkPattern(reading, parsed, [...at, 'loop', 'until'], section.loop.until, '');
    for (const key of ['after', 'to'] as const) {
      section[key]?.forEach((other, position) => {
        const path = [...at, key, position];
        if (other === name)
          reading.report(parsed, path, {
            code: 'conflict',
            message: key === 'after' ? `\`${other}\` cannot wait for itself` : `\`${other}\` cannot hand off to itself`,
            hint: 'Choose another member.',
          });
        else if (!names.has(other) && names.size > 0) {
          const near = closest(other, names);
          reading.report(parsed, path, {
            code: 'unknown_member',
            message: `\`${other}\` is not a member of this team`,
            hint: near === undefined ? `The members are ${[...names].join(', ')}.` : `Did you mean \`${near}\`?`,
            ...(near === undefined ? {} : { fixes: [{ do: 'replace', text: near }] }),
          });
        }
      });
    }
  }
}

/** Reports cycles in a workflow, and members that no handoff ever reaches. */
function checkReach(
  reading: Reading,
  parsed: ParsedFile,
  value: Partial<AgentFile> & { readonly team: TeamSection },
  drafts: readonly Draft[],
): void {
  const members = drafts.map(({ section, name = '' }) => ({ name, after: section.after }));
  const edges = new Map(
    drafts.map(({ section, name = '' }, index) => [
      name,
      value.team.kind === 'workflow' ? afterOf(members, index) : section.to,
    ]),
  );
  if (value.team.kind === 'workflow') {
    for (const { section, at, name = '' } of drafts) {
      const cycle = findCycle(name, edges);
      if (cycle === undefined) continue;
      reading.report(parsed, section.after === undefined ? at : [...at, 'after'], {
        code: 'conflict',
        message: `these members wait for each other: ${cycle.join(' → ')}`,
        hint: 'Remove one of them from `after`. To let a member work repeatedly, use `loop`.',
      });
      return;
    }
  } else if (value.team.kind === 'handoff') {
    const all = drafts.map(({ name = '' }) => name);
    const own = worksItself(value) ? value.name : undefined;
    const first = own ?? all[0] ?? '';
    const reached = new Set([first]);
    for (const name of reached) for (const next of name === own ? all : (edges.get(name) ?? all)) reached.add(next);
    for (const { at, name = '' } of drafts) {
      if (!reached.has(name))
        reading.report(parsed, at, {
          code: 'unreachable',
          message: `no member ever hands off to \`${name}\``,
          hint: 'Add it to `to` of another member, or remove it.',
        });
    }
  }
}

/** Returns the members that the workflow member at `index` waits for. */
export function afterOf(
  members: readonly { readonly name: string; readonly after?: readonly string[] | undefined }[],
  index: number,
): readonly string[] {
  const before = members[index - 1]?.name;
  return members[index]?.after ?? (before === undefined ? [] : [before]);
}

/** Returns a cycle from a member, through those it waits for, back to itself. */
function findCycle(name: string, edges: ReadonlyMap<string, readonly string[] | undefined>): string[] | undefined {
  const walk = (at: string, visited: readonly string[]): string[] | undefined => {
    for (const next of edges.get(at) ?? []) {
      if (next === name) return [...visited, next];
      if (visited.includes(next)) continue;
      const found = walk(next, [...visited, next]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(name, [name]);
}
