/** The tools that let an agent call the other members of its team. */

import type { Json, JsonObject } from '../../common/json.ts';
import { handoffToolName, type SubmittedMember } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Envelope } from '../log/log.ts';
import type { AgentEnd } from '../loop/agent.ts';
import type { ToolSpec } from '../ports.ts';
import type { AgentTool } from '../tools/toolSet.ts';
import type { Mail } from './mail.ts';

/** A member's instance that handles a call. */
interface Instance {
  readonly path: string;
  run(
    how: 'team' | 'parallel',
    parent: number,
    task: Mail,
  ): Promise<{ readonly worked: { readonly end: AgentEnd }; readonly path: string }>;
}

interface DelegatePorts {
  /** Returns the instance for the next call. */
  begin(): Instance;
  /** Whether the record contains its start. */
  isRecorded(path: string): boolean;
  /** Why the whole rollout is over, if it is. */
  stopReason(): ClassedError | undefined;
}

/** Returns the tool with which a leader calls a member: the member works, and its answer is the result. */
export function delegateTool({ name, agent }: SubmittedMember, leader: string, ports: DelegatePorts): AgentTool {
  return {
    spec: agentSpec(
      name,
      agent.description ?? `The agent ${name} performs a task and answers.`,
      'task',
      'What to do, with all required information: the agent sees nothing else.',
    ),
    prepare: (call, together) => {
      const instance = ports.begin();
      const how = together > 1 ? 'parallel' : 'team';
      let envelope: Envelope | undefined;
      const work = async (args: JsonObject, span: number): Promise<Json> => {
        const {
          worked: { end },
          path,
        } = await instance.run(how, span, { from: leader, topic: 'task', text: textIn(args, 'task'), call });
        envelope = { from: path, to: leader, topic: 'answer', priority: 0 };
        return 'answer' in end ? end.answer : null;
      };
      return {
        get envelope() {
          return envelope;
        },
        make: async (args, span) => {
          envelope = { from: instance.path, to: leader, topic: 'answer', priority: -1 };
          try {
            return await work(args, span);
          } catch (thrown) {
            throw ports.stopReason() ?? failureOf(name, thrown);
          }
        },
        recalled: async (args, span) => {
          if (!ports.isRecorded(instance.path)) return; // a person answered instead
          try {
            await work(args, span);
          } catch (thrown) {
            const stopReason = ports.stopReason();
            if (stopReason !== undefined) throw stopReason;
            if (!(thrown instanceof ClassedError)) throw thrown; // its own failure is the recorded answer
          }
        },
      };
    },
  };
}

/** A member that the agent can hand off to. */
export interface HandoffTarget {
  readonly name: string;
  readonly description: string | undefined;
}

/**
 * Returns the tools that hand off to other agents. They end the work of the agent that calls one; of several in one
 * turn, the first counts.
 */
export function handoffTools(targets: readonly HandoffTarget[]): AgentTool[] {
  let chosen: string | undefined;
  return targets.map(
    ({ name, description }): AgentTool => ({
      spec: agentSpec(
        handoffToolName(name),
        `Hands the work to ${name}, who continues; your part is then ` +
          `over.${description === undefined ? '' : ` ${description}`}`,
        'message',
        'What the next agent needs to know.',
      ),
      prepare: () => ({
        envelope: undefined,
        make: () => {
          if (chosen !== undefined) throw new ClassedError('invalid_arguments', `You already handed off to ${chosen}.`);
          chosen = name;
          return Promise.resolve(`${name} continues.`);
        },
        recalled: () => Promise.resolve(),
      }),
    }),
  );
}

function agentSpec(name: string, description: string, argument: string, about: string): ToolSpec {
  return {
    name,
    description,
    parameters: {
      type: 'object',
      properties: { [argument]: { type: 'string', description: about } },
      required: [argument],
      additionalProperties: false,
    },
    // Replays the recorded part and runs only the rest, so calling it again repeats nothing.
    effect: 'pure',
    sessionBound: false,
    from: { kind: 'agent', name },
  };
}

function textIn(args: JsonObject, name: string): string {
  const value = args[name];
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function failureOf(name: string, thrown: unknown): ClassedError {
  const error = ClassedError.from(thrown, 'infrastructure');
  return error.class === 'infrastructure'
    ? error
    : new ClassedError('tool_error', `${name} failed (${error.class}): ${error.message}`);
}
