import { withoutUndefined } from '../common/withoutUndefined.ts';
import { ClassedError } from '../trace/classedError.ts';
import { PREDICT } from '../trace/prediction/lookahead.ts';
import type { EffectResult } from './act/act.ts';
import type { RolloutJob } from './job.ts';
import type { ToolCall, ToolCallContext, ToolOutcome, ToolSpec, UntrustedWork, World } from './ports.ts';
import { PredictingSession } from './predictingSession.ts';
import type { Stop } from './stop.ts';
import type { PendingCall } from './tools/pendingCall.ts';
import { checkedTool } from './tools/requestCheck.ts';
import { argumentsOf } from './tools/toolEvents.ts';
import type { ToolEntry, ToolSet } from './tools/toolSet.ts';
import type { RolloutWorld } from './world.ts';

/** The side under which its calls of models are recorded. */
const SIDE = 'lookahead';

const SPEC: ToolSpec = {
  name: PREDICT,
  description:
    'Predicts what a call of another tool would return, without making it: nothing changes. A model of the ' +
    'environment answers, so the prediction may be wrong.',
  parameters: {
    type: 'object',
    properties: {
      tool: { type: 'string', description: 'Name of the tool.' },
      arguments: { type: 'object', description: 'The arguments that you would call it with.' },
    },
    required: ['tool', 'arguments'],
    additionalProperties: false,
  },
  effect: 'pure',
  sessionBound: false,
  from: { kind: 'builtin', name: PREDICT },
};

interface LookaheadParts {
  readonly lookahead: World;
  readonly job: RolloutJob;
  readonly stop: Stop;
  readonly untrusted: UntrustedWork;
  readonly world: RolloutWorld | undefined;
}

/** Agents look ahead: the tool `predict` asks a world, whose session sees what they saw, what a call would return. */
export class Lookahead {
  readonly #parts: LookaheadParts;
  readonly #session: PredictingSession;

  constructor(parts: LookaheadParts) {
    const { lookahead, job, stop } = parts;
    this.#parts = parts;
    this.#session = new PredictingSession(lookahead, job, stop);
  }

  /** Returns the tool for an agent that has these tools. Its calls and those of the world run one after another. */
  tool(tools: ToolSet): ToolEntry {
    const { queue } = this.#parts.world ?? {};
    const call = (asked: ToolCall, context: ToolCallContext): Promise<ToolOutcome> =>
      this.#predict(tools, asked, context);
    return { spec: SPEC, host: { call }, world: undefined, ...withoutUndefined({ queue }) };
  }

  /** Lets the session see a call that has ended, after what happens first. Rejects only as `restored` does. */
  async ended(call: PendingCall, done: EffectResult<'tool'>, restored: Promise<void> | undefined): Promise<void> {
    await restored;
    // What is predicted does not happen.
    if (call.request.name !== PREDICT) await this.#session.observe(call, done);
  }

  /** Closes the session if it was opened. */
  close(): Promise<void> {
    return this.#session.close();
  }

  async #predict(tools: ToolSet, { id, arguments: asked }: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const { tool, arguments: args } = asked;
    const name = typeof tool === 'string' ? tool : ''; // its schema is checked
    if (name === PREDICT) throw new ClassedError('invalid_arguments', `${PREDICT} does not predict itself.`);
    const request = { call: id, name, arguments: args ?? {}, effect: 'pure' as const };
    await checkedTool(tools, request, this.#parts.untrusted, context.signal);
    const { ask } = context;
    const response = await this.#session
      .predict(
        { id, name, arguments: argumentsOf(request.arguments) },
        // An endpoint that is down is no reason to end the attempt.
        {
          ...context,
          ...(ask === undefined ? {} : { ask: (question) => ask({ ...question, side: SIDE, optional: true }) }),
        },
      )
      .catch((thrown: unknown) => {
        const { message, recorded } = ClassedError.from(thrown, 'world_error');
        // A recorded error is a prediction.
        if (recorded !== undefined) return recorded.response ?? message;
        throw new ClassedError('tool_error', `${name} cannot be predicted: ${message}`);
      });
    if (response === undefined)
      throw new ClassedError(
        'unknown_tool',
        `${this.#parts.lookahead.name} does not know ${name}, so it cannot predict it.`,
      );
    return { response, source: 'predicted' };
  }
}
