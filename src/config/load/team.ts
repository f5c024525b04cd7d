/** What the schema cannot say of a `team:`: its members' files, and whether each of them ever gets to work. */

import { basename } from '../paths.ts';
import type { AgentFile } from '../schema/agentFile.ts';
import { type MemberSection, memberSection, type TeamSection } from '../schema/teamSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { closest } from '../source/suggest.ts';
import { type AgentParts, checkPattern, type LoadedAgent } from './agent.ts';
import type { Mention, Reading } from './reading.ts';

export interface LoadedMember extends Omit<MemberSection, 'agent' | 'name'> {
  readonly name: string;
  readonly agent: LoadedAgent;
  /** Where it stands in the team's file. */
  readonly at: Path;
}

export interface LoadedTeam {
  readonly kind: TeamSection['kind'];
  readonly members: readonly LoadedMember[];
}

export interface TeamParts {
  /** The members' files that could be read. */
  readonly members: readonly AgentParts[];
  /** Absent when something is wrong with it. */
  readonly team: LoadedTeam | undefined;
}

/** A member as far as it is known. */
interface Draft {
  readonly section: MemberSection;
  readonly at: Path;
  readonly name: string | undefined;
  readonly parts: AgentParts | undefined;
}

/** Whether the agent of a team's file has work of its own. */
export function worksItself(file: Pick<Partial<AgentFile>, 'prompt' | 'team'>): boolean {
  return (
    file.team === undefined ||
    file.team.kind === 'leader' ||
    (file.team.kind === 'handoff' && file.prompt !== undefined)
  );
}

/** `above`: the files that lead to this one, itself included. `readMember` reads a member's file. */
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
    const named: Path = typeof entry === 'string' ? at : [...at, 'agent'];
    const path = await reading.locate(parsed, named, section.agent);
    const again = path === undefined ? -1 : above.indexOf(path);
    if (path !== undefined && again !== -1) {
      const way = [...above.slice(again), path].map(basename).join(' → ');
      reading.tell(parsed, named, {
        code: 'conflict',
        message: `a team cannot be a member of itself: ${way}`,
        hint: 'Name another agent, or let it work again with `loop`.',
      });
      continue;
    }
    const parts = path === undefined ? undefined : await readMember(path, { parsed, at: named });
    drafts.push({ section, at, name: section.name ?? parts?.value.name, parts });
  }
  const told = reading.problems.length;
  checkUnused(reading, parsed, value);
  checkMembers(reading, parsed, team, value, drafts);
  if (
    drafts.length === team.members.length &&
    drafts.every(({ name }) => name !== undefined) &&
    reading.problems.length === told
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

/** What a team whose members do all the work has no use for. */
function checkUnused(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  if (worksItself(value)) return;
  const workflow = value.team?.kind === 'workflow';
  for (const key of ['prompt', 'model', 'tools', 'answer', 'context'] as const) {
    if (!parsed.has([key])) continue;
    reading.tell(
      parsed,
      [key],
      {
        code: 'conflict',
        message: `\`${key}\` means nothing here: the members of a ${value.team?.kind ?? 'team'} do all the work`,
        hint: workflow ? 'Remove it, or give it to a member.' : 'Remove it, or add a `prompt`: then this agent begins.',
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
        reading.tell(parsed, section.name === undefined ? at : [...at, 'name'], {
          code: 'conflict',
          message: `two agents of this team are called \`${name}\``,
          hint: 'Give one a `name:` of its own, as in `{ agent: …, name: second }`.',
        });
      seen.add(name);
      if (kind !== 'workflow' && !/^[\w-]{1,48}$/.test(name))
        reading.tell(parsed, at, {
          code: 'value',
          message: `\`${name}\` cannot be part of the name of a tool, by which the others reach it`,
          hint: 'Give it a `name:` of letters, digits, `-` and `_`.',
        });
    }
    const foreign = { workflow: ['to'], handoff: ['after'], leader: ['after', 'to'] } as const;
    for (const key of foreign[kind]) {
      if (section[key] !== undefined)
        reading.tell(
          parsed,
          [...at, key],
          { code: 'conflict', message: `\`${key}\` means nothing in a team of kind \`${kind}\``, hint: 'Remove it.' },
          'key',
        );
    }
    if (section.loop !== undefined) checkPattern(reading, parsed, [...at, 'loop', 'until'], section.loop.until, '');
    for (const key of ['after', 'to'] as const) {
      section[key]?.forEach((other, position) => {
        const path = [...at, key, position];
        if (other === name)
          reading.tell(parsed, path, {
            code: 'conflict',
            message:
              key === 'after' ? `\`${other}\` cannot wait for itself` : `\`${other}\` cannot hand the work to itself`,
            hint: 'Name another member.',
          });
        else if (!names.has(other) && names.size > 0) {
          const near = closest(other, names);
          reading.tell(parsed, path, {
            code: 'unknown_member',
            message: `\`${other}\` is no member of this team`,
            hint: near === undefined ? `Its members are ${[...names].join(', ')}.` : `Did you mean \`${near}\`?`,
            ...(near === undefined ? {} : { fixes: [{ do: 'replace', text: near }] }),
          });
        }
      });
    }
  }
}

/** Cycles of a workflow, and members that nobody ever hands the work to. */
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
      const cycle = wayBack(name, edges);
      if (cycle === undefined) continue;
      reading.tell(parsed, section.after === undefined ? at : [...at, 'after'], {
        code: 'conflict',
        message: `these members wait for one another: ${cycle.join(' → ')}`,
        hint: 'Take one of them out of `after`; for a member that works again, use `loop`.',
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
        reading.tell(parsed, at, {
          code: 'unreachable',
          message: `nobody ever hands the work to \`${name}\``,
          hint: 'Add it to the `to` of a member, or remove it.',
        });
    }
  }
}

/** Whom the member at `index` of a workflow comes after. */
export function afterOf(
  members: readonly { readonly name: string; readonly after?: readonly string[] | undefined }[],
  index: number,
): readonly string[] {
  const before = members[index - 1]?.name;
  return members[index]?.after ?? (before === undefined ? [] : [before]);
}

/** A way from a member over those it waits for back to it. */
function wayBack(name: string, edges: ReadonlyMap<string, readonly string[] | undefined>): string[] | undefined {
  const walk = (at: string, way: readonly string[]): string[] | undefined => {
    for (const next of edges.get(at) ?? []) {
      if (next === name) return [...way, next];
      if (way.includes(next)) continue;
      const found = walk(next, [...way, next]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(name, [name]);
}
