/** `team:` of an agent file. */
import { z } from 'zod';
import { choice, expects, group, listOf, name, path, text, whole } from './values.ts';

const EXAMPLE = 'searcher.agent.yaml';
const WHAT = 'an agent file, or { agent: … }';

const memberName = text('searcher', 'the name of a member');
const names = listOf(memberName, 'a list of members', '[searcher]');

const loop = group(
  {
    until: text('"\\\\bAPPROVED\\\\b"', 'a regular expression').describe(
      "A regular expression: once the member's answer matches it, the loop is over.",
    ),
    most: whole(1, 3).describe('How often the member works at most. Its last answer then counts.'),
  },
  'a group of keys with `until` and `most`',
  '{ until: APPROVED, most: 3 }',
);

const member = group(
  {
    agent: path(EXAMPLE).describe('The file of the member, relative to this one. It may be a team itself.'),
    name: name
      .optional()
      .describe(
        'What the member is called in this team, as `desk/NAME#1` in trajectories. Absent: the name in its file.',
      ),
    after: names
      .optional()
      .describe(
        'In a workflow: the members whose answers it is given, and waits for. Absent: the member before it in ' +
          'the list; `[]`: it begins at once. Members that do not wait for one another work at the same time.',
      ),
    to: names.optional().describe('In a handoff: the members it may hand the work to. Absent: all others; `[]`: none.'),
    loop: loop
      .optional()
      .describe('The member works again, on what it was given and its last answer, until a rule holds.'),
  },
  'a group of keys with `agent`',
  `{ agent: ${EXAMPLE} }`,
);

export const teamSection = z.strictObject({
  kind: choice(['workflow', 'handoff', 'leader']).describe(
    'How the members work together. `workflow`: each is given the answers of those it comes after. `handoff`: ' +
      "one works at a time, and hands the work on by a tool `hand_off_to_NAME`; the last one's answer counts. " +
      'Whoever works in a member that is a team may hand the work to the other members too, of a workflow its ' +
      'ends. `leader`: the agent of this file leads, and calls the members as its tools.',
  ),
  members: z
    .array(
      z.union([path(EXAMPLE), member], expects(WHAT, EXAMPLE)),
      expects('a list of at least one agent file', `[${EXAMPLE}]`),
    )
    .min(1, expects('a list of at least one agent file', `[${EXAMPLE}]`))
    .describe('The members: agent files relative to this one, each alone or with its place in the team.'),
});
export type TeamSection = z.output<typeof teamSection>;
export type MemberSection = z.output<typeof member>;

/** An entry of `members`, its short form spelt out. */
export function memberSection(entry: TeamSection['members'][number]): MemberSection {
  return typeof entry === 'string' ? { agent: entry } : entry;
}
