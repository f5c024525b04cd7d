/** Schema of `team:` in an agent file. */
import { z } from 'zod';
import { choice, expects, group, listOf, name, path, text, whole } from './values.ts';

const EXAMPLE = 'searcher.agent.yaml';
const MEMBER_TEXT = 'an agent file, or { agent: … }';

const memberName = text('searcher', 'the name of a member');
const names = listOf(memberName, 'a list of members', '[searcher]');

const loop = group(
  {
    until: text('"\\\\bAPPROVED\\\\b"', 'a regular expression').describe(
      'A regular expression. The loop ends when the answer of the member matches.',
    ),
    most: whole(1, 3).describe('Maximum number of turns. After that, the last answer counts.'),
  },
  'a group of keys with `until` and `most`',
  '{ until: APPROVED, most: 3 }',
);

const member = group(
  {
    agent: path(EXAMPLE).describe('The agent file of the member, relative to this file. It can itself be a team.'),
    name: name
      .optional()
      .describe(
        'Name of the member in this team, shown as `desk/NAME#1` in trajectories. Default: the name in its file.',
      ),
    after: names
      .optional()
      .describe(
        'In a workflow: the members that it waits for and whose answers it gets. Default: the previous member in the ' +
          'list; `[]`: it starts immediately. Members that do not wait for each other work in parallel.',
      ),
    to: names
      .optional()
      .describe('In a handoff: the members that it can hand off to. Default: all others; `[]`: none.'),
    loop: loop
      .optional()
      .describe('Lets the member work repeatedly, with its input and its last answer, until a condition is met.'),
  },
  'a group of keys with `agent`',
  `{ agent: ${EXAMPLE} }`,
);

export const teamSection = z.strictObject({
  kind: choice(['workflow', 'handoff', 'leader']).describe(
    'How the members work together. `workflow`: each member gets the answers of the members before it. `handoff`: ' +
      'one member works at a time and hands off with a tool `hand_off_to_NAME`; the last answer counts. If a member ' +
      'is itself a team, the agents working in it (in a workflow, only the final ones) can also hand off to the ' +
      'other members. `leader`: the agent of this file leads and calls the members as tools.',
  ),
  members: z
    .array(
      z.union([path(EXAMPLE), member], expects(MEMBER_TEXT, EXAMPLE)),
      expects('a list of at least one agent file', `[${EXAMPLE}]`),
    )
    .min(1, expects('a list of at least one agent file', `[${EXAMPLE}]`))
    .describe('The members: agent files relative to this file, or objects with `agent` and more settings.'),
});
export type TeamSection = z.output<typeof teamSection>;
export type MemberSection = z.output<typeof member>;

/** Returns an entry of `members` with its short form expanded. */
export function memberSection(entry: TeamSection['members'][number]): MemberSection {
  return typeof entry === 'string' ? { agent: entry } : entry;
}
