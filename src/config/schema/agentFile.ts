/** Schema of `*.agent.yaml`: prompt, model, tools, and limits. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { modelSection } from './modelSection.ts';
import { teamSection } from './teamSection.ts';
import { toolEntry } from './toolEntry.ts';
import { amount, choice, duration, expects, fault, listOf, name, text, whole } from './values.ts';

export const version = z.literal(1, expects('1', '1')).describe('Version of the file format: 1.');

const answer = z
  .union(
    [
      z.literal('last_message'),
      z
        .strictObject({
          tool: text('submit')
            .optional()
            .describe('A call to this tool ends the rollout; its arguments are the answer.'),
          tag: text('answer')
            .optional()
            .describe('The text between `<tag>` and `</tag>` of the last message is the answer.'),
          regex: text('"Answer: (.*)"')
            .optional()
            .describe('The first group, or the whole match, in the last message is the answer.'),
        })
        .superRefine((rule, context) => {
          const count = Object.values(rule).filter((value) => value !== undefined).length;
          if (count === 1) return;
          fault(
            context,
            count === 0 ? '`answer` needs one of `tool`, `tag`, `regex`' : '`answer` can have only one rule',
            'For example, write `answer: last_message` or `answer: { tag: answer }`.',
            { code: count === 0 ? 'missing' : 'conflict' },
          );
        }),
    ],
    expects('last_message, or one of { tool: … }, { tag: … }, { regex: … }', 'last_message'),
  )
  .default(DEFAULTS.answer)
  .describe(
    'What ends a rollout, and where the answer is. `last_message`: the first reply without tool calls. If nothing ' +
      'matches, the attempt has no answer and fails.',
  );

export const agentFile = z.strictObject({
  version,
  name: name.describe('Name of the agent, as shown in trajectories.'),
  description: text('Finds books in the catalogue.')
    .optional()
    .describe('What the agent is good at. The other members of its team see this.'),
  model: modelSection
    .optional()
    .describe('The model of the agent. Optional only for a team whose members do all the work.'),
  prompt: text('prompts/desk.md', 'the prompt, or the path of a .md or .txt file')
    .optional()
    .describe(
      'The system prompt: inline, or the path of a `.md` or `.txt` file. `{{task.NAME}}` is replaced with a field ' +
        'or column of the task.',
    ),
  tools: listOf(toolEntry, 'a list of tools', '[{ builtin: [calculator] }]')
    .default([])
    .describe('The tools that the model may call.'),
  answer,
  context: z
    .strictObject({
      reasoning: choice(['keep', 'drop'])
        .default(DEFAULTS.context.reasoning)
        .describe("Whether the model's reasoning from earlier steps is sent to it again."),
      tool_result_tokens: amount('8000')
        .prefault(DEFAULTS.context.tool_result_tokens)
        .describe('Longer tool results are shortened in the middle for the model; the log keeps the full result.'),
      overflow: choice(['fail', 'drop_oldest', 'summarize'])
        .default(DEFAULTS.context.overflow)
        .describe(
          'What happens when the conversation no longer fits in the context of the model: the rollout ends, the ' +
            'oldest steps are dropped, or they are summarized. Every rewrite is logged.',
        ),
    })
    .prefault({})
    .describe('Which parts of the conversation the model sees.'),
  limits: z
    .strictObject({
      steps: whole(1, 30).default(DEFAULTS.limits.steps).describe('Maximum number of model calls per rollout.'),
      seconds: duration('15 min')
        .prefault(DEFAULTS.limits.seconds)
        .describe('Maximum duration of a rollout, not counting holds and waiting for the endpoint.'),
      tool_seconds: duration('2 min')
        .prefault(DEFAULTS.limits.tool_seconds)
        .describe('Maximum duration of a tool call. Progress reported by the tool restarts it.'),
      tokens: amount('200k')
        .prefault(DEFAULTS.limits.tokens)
        .describe('Maximum number of tokens per rollout, input and output combined.'),
    })
    .prefault({})
    .describe(
      'Limits of a rollout. A rollout that reaches one is scored in its current state and marked as truncated.',
    ),
  team: teamSection
    .optional()
    .describe(
      'A team of agents. The `limits` of the file that a batch names apply to the whole rollout; those of a member ' +
        'apply to each of its turns, or, if the member is a team, to all work in it. In a workflow, the members do ' +
        'all the work. In a handoff, the agent of this file starts if it has a `prompt`, otherwise the first member.',
    ),
  program: z
    .strictObject({
      command: listOf(text('python3'), 'a list of texts', '[python3, my_agent.py]').describe(
        'The program and its arguments.',
      ),
      env: z
        .record(z.string(), z.string(expects('text', '"${gateway.url}"')))
        .optional()
        .describe('Environment variables of the program.'),
    })
    .optional()
    .describe('Your own program that acts as the agent. Not available yet.'),
});
export type AgentFile = z.output<typeof agentFile>;
