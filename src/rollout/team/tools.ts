/** The tools through which an agent reaches the others of its team. */

import type { Json, JsonObject } from '../../common/json.ts';
import { handoffToolName, type SubmittedMember } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Envelope } from '../log/log.ts';
import type { AgentEnd } from '../loop/agent.ts';
import type { ToolSpec } from '../ports.ts';
import type { AgentTool } from '../tools/toolSet.ts';
import type { Mail } from './mail.ts';

/** An instance of a member that a call is for. */
interface Instance {
  readonly path: string;
  run(
    how: 'team' | 'parallel',
    parent: number,
    task: Mail,
  ): Promise<{ readonly worked: { readonly end: AgentEnd }; readonly path: string }>;
}

interface DelegatePorts {
  /** The instance of the next call. */
  begin(): Instance;
  /** Whether the record has its beginning. */
  began(path: string): boolean;
  /** Why the whole rollout is over, when it is. */
  over(): ClassedError | undefined;
}

/** A member as a tool of its leader: called, it works, and its answer is the result. */
export function delegateTool({ name, agent }: SubmittedMember, leader: string, ports: DelegatePorts): AgentTool {
  return {
    spec: agentSpec(
      name,
      agent.description ?? `The agent ${name} performs a task and answers.`,
      'task',
      'What to do, with all required information: the agent sees nothing else.',
    ),
    ask: (call, together) => {
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
            throw ports.over() ?? failureOf(name, thrown);
          }
        },
        recalled: async (args, span) => {
          if (!ports.began(instance.path)) return; // somebody answered in its place
          try {
            await work(args, span);
          } catch (thrown) {
            const over = ports.over();
            if (over !== undefined) throw over;
            if (!(thrown instanceof ClassedError)) throw thrown; // its own failure is the recorded answer
          }
        },
      };
    },
  };
}

/** A member that the agent can hand off to. */
export interface Colleague {
  readonly name: string;
  readonly description: string | undefined;
}

/**
 * Tools that hand the work to others; the agent that calls one has ended then. Of several in one turn the first counts.
 */
export function handoffTools(colleagues: readonly Colleague[]): AgentTool[] {
  let taken: string | undefined;
  return colleagues.map(
    ({ name, description }): AgentTool => ({
      spec: agentSpec(
        handoffToolName(name),
        `Hands the work to ${name}, who continues it; your own part is then ` +
          `over.${description === undefined ? '' : ` ${description}`}`,
        'message',
        'What the next agent needs to know.',
      ),
      ask: () => ({
        envelope: undefined,
        make: () => {
          if (taken !== undefined)
            throw new ClassedError('invalid_arguments', `The work was already handed to ${taken}.`);
          taken = name;
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
    // What is recorded of it is gone through again, and only the rest is done: calling it twice does nothing twice.
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
