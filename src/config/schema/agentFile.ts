/** `*.agent.yaml`: prompt, model, tools and limits. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { modelSection } from './modelSection.ts';
import { teamSection } from './teamSection.ts';
import { toolEntry } from './toolEntry.ts';
import { amount, choice, duration, expects, fault, listOf, name, text, whole } from './values.ts';

export const version = z.literal(1, expects('1', '1')).describe("Version of this file's format: 1.");

const answer = z
  .union(
    [
      z.literal('last_message'),
      z
        .strictObject({
          tool: text('submit')
            .optional()
            .describe('A call of this tool ends the rollout; its arguments are the answer.'),
          tag: text('answer')
            .optional()
            .describe('The text between `<tag>` and `</tag>` of the last message is the answer.'),
          regex: text('"Answer: (.*)"')
            .optional()
            .describe('The first group, or the whole match, in the last message is the answer.'),
        })
        .superRefine((rule, context) => {
          const given = Object.values(rule).filter((value) => value !== undefined).length;
          if (given === 1) return;
          fault(
            context,
            given === 0 ? '`answer` needs one of `tool`, `tag`, `regex`' : '`answer` is one rule, not several',
            'Write `answer: last_message`, or for example `answer: { tag: answer }`.',
            { code: given === 0 ? 'missing' : 'conflict' },
          );
        }),
    ],
    expects('last_message, or one of { tool: … }, { tag: … }, { regex: … }', 'last_message'),
  )
  .default(DEFAULTS.answer)
  .describe(
    'What ends a rollout, and what of it is the answer. `last_message`: the first reply without tool calls. No ' +
      'match: there is no answer, which is scored as failed.',
  );

export const agentFile = z.strictObject({
  version,
  name: name.describe('Name of the agent, as shown in trajectories.'),
  description: text('Finds books in the catalogue.')
    .optional()
    .describe('What the agent is good at: what the others of its team are told.'),
  model: modelSection
    .optional()
    .describe('The model that plays the agent. Only a team whose members do all the work has none.'),
  prompt: text('prompts/desk.md', 'the prompt, or the path of a .md or .txt file')
    .optional()
    .describe(
      'The system prompt: inline, or the path of a `.md` or `.txt` file. `{{task.NAME}}` is replaced by a field ' +
        'or column of the task.',
    ),
  tools: listOf(toolEntry, 'a list of tools', '[{ builtin: [calculator] }]')
    .default([])
    .describe('What the model may call.'),
  answer,
  context: z
    .strictObject({
      reasoning: choice(['keep', 'drop'])
        .default(DEFAULTS.context.reasoning)
        .describe('Whether what the model thought in earlier steps is sent to it again.'),
      tool_result_tokens: amount('8000')
        .prefault(DEFAULTS.context.tool_result_tokens)
        .describe('A longer tool result is shortened in the middle for the model; the whole stays in the log.'),
      overflow: choice(['fail', 'drop_oldest', 'summarize'])
        .default(DEFAULTS.context.overflow)
        .describe(
          'What happens when the conversation no longer fits the model: the rollout ends, the oldest steps are ' +
            'left out, or they are summarized. Every rewrite is in the log.',
        ),
    })
    .prefault({})
    .describe('What of the conversation the model is shown.'),
  limits: z
    .strictObject({
      steps: whole(1, 30).default(DEFAULTS.limits.steps).describe('Most model calls of one rollout.'),
      seconds: duration('15 min')
        .prefault(DEFAULTS.limits.seconds)
        .describe('Longest time of one rollout, without holds and without waiting for the endpoint.'),
      tool_seconds: duration('2 min')
        .prefault(DEFAULTS.limits.tool_seconds)
        .describe('Longest time of one tool call; progress that a tool reports starts it anew.'),
      tokens: amount('200k')
        .prefault(DEFAULTS.limits.tokens)
        .describe('Most tokens of one rollout, read and written together.'),
    })
    .prefault({})
    .describe('Where a rollout is cut off. It is then scored as it stands and marked truncated.'),
  team: teamSection
    .optional()
    .describe(
      'A team of agents. The `limits` of the file that a batch names bound the whole; those of a member bound ' +
        'each of its turns, and those of a member that is a team all that is done in it. The members of a workflow ' +
        'do all the work; in a handoff the agent of this file begins if it has a `prompt`, else the first member.',
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
    .describe('A program of your own that plays the agent. Not yet available.'),
});
export type AgentFile = z.output<typeof agentFile>;
