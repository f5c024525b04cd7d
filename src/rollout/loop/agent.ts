import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Json } from '../../common/json.ts';
import type { Log } from '../log/log.ts';
import { textOf, type LoggedMessage } from '../log/messages.ts';
import { answerOf, answerOfCall } from './answer.ts';
import { divide, dropNotice, shortened, summaryOf, summaryRequest, withoutReasoning } from './compaction.ts';
import type { Context } from './context.ts';
import type { Limits } from './limits.ts';
import type { ModelCaller } from './modelCall.ts';
import type { ToolCaller, ToolCallPart } from '../tools/toolCalls.ts';
import type { ToldTools } from '../tools/toolSet.ts';
import type { SimulatedUser } from './user.ts';

export interface AgentParts {
  readonly agent: SubmittedAgent;
  readonly log: Log;
  readonly limits: Limits;
  readonly context: Context;
  readonly model: ModelCaller;
  readonly tools: ToolCaller;
  readonly told: ToldTools;
  readonly user: SimulatedUser | undefined;
  /** The step of the newest model call. */
  step(): number;
  makeContext(messages: readonly LoggedMessage[]): Context;
}

/**
 * One agent at work: model call, tool calls, model call … until it answers. Nothing in here reads a clock, chance or
 * the environment but through `act`, so that running it again over a prefix gives the same.
 */
export class Agent {
  readonly #parts: AgentParts;
  /** Messages at the head of the context that compaction never takes away. */
  #fixed = 0;
  /** The newest message without tool calls. */
  #said: string | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Begins with these messages and gives the answer; null when the rule finds none. Throws ClassedError. */
  async run(opening: readonly LoggedMessage[]): Promise<Json> {
    const { agent, context, user } = this.#parts;
    context.push(...opening);
    this.#fixed = opening.length;
    for (;;) {
      const reply = await this.#think();
      const calls = reply.parts.filter((part): part is ToolCallPart => part.type === 'tool_call');
      if (calls.length > 0) {
        const answer = await this.#useTools(calls);
        if (answer !== undefined) return answer.value;
        continue;
      }
      this.#said = textOf(reply.parts);
      if (user === undefined) return answerOf(agent.answer, this.#said);
      const heard = await user.answer(reply);
      if (heard === undefined) return answerOf(agent.answer, this.#said);
      context.push(heard);
    }
  }

  /** What counts as the answer when the rollout is cut short: in a conversation the last thing said, else nothing. */
  get answerSoFar(): Json {
    const { agent, user } = this.#parts;
    return user === undefined || this.#said === undefined ? null : answerOf(agent.answer, this.#said);
  }

  /** What the model was last shown, with its replies. */
  get messages(): readonly LoggedMessage[] {
    return this.#parts.context.view();
  }

  /** The model's next message, after as much room was made in the context as it needs and the rule allows. */
  async #think(): Promise<LoggedMessage> {
    const { agent, log, context, told } = this.#parts;
    for (;;) {
      const { end, message } = await this.#call(context, told);
      if (message !== undefined) {
        context.push(withoutReasoning(message, agent.context, log, agent.name));
        context.seen();
        return message;
      }
      const error = end.error ?? { class: 'model_error', message: 'The model gave no message.' };
      if (error.class !== 'context_overflow') throw new ClassedError(error.class, error.message);
      await this.#makeRoom(error.message);
    }
  }

  async #call(context: Context, told?: ToldTools): ReturnType<ModelCaller['call']> {
    const { limits, model } = this.#parts;
    limits.step();
    const done = await model.call(context, told);
    const { usage } = done.end;
    if (usage !== undefined) limits.used(usage.input_tokens + usage.output_tokens);
    return done;
  }

  async #makeRoom(message: string): Promise<void> {
    const { agent, log, context } = this.#parts;
    const division = agent.context.overflow === 'fail' ? undefined : divide(context.items, this.#fixed);
    if (division === undefined) throw new ClassedError('context_overflow', message);
    const { fixed, old, recent } = division;
    const summary = agent.context.overflow === 'summarize' ? await this.#sumUp([...fixed, ...old]) : undefined;
    const standIn = summary === undefined ? dropNotice(old, log, agent.name) : summaryOf(summary, log, agent.name);
    context.rewrite([...fixed, standIn, ...recent]);
  }

  /** The model's own summary; undefined when even that does not fit, and the messages are dropped. */
  async #sumUp(messages: readonly LoggedMessage[]): Promise<string | undefined> {
    const { agent, log } = this.#parts;
    const { end, message } = await this.#call(this.#parts.makeContext([...messages, summaryRequest(log, agent.name)]));
    if (message !== undefined) return textOf(message.parts);
    if (end.error !== undefined && end.error.class !== 'context_overflow') throw new ClassedError(end.error.class, end.error.message);
    return undefined;
  }

  /** Makes the calls; gives the answer when one of them was the answering tool's and went well. */
  async #useTools(calls: readonly ToolCallPart[]): Promise<{ readonly value: Json } | undefined> {
    const { agent, log, context, model, tools } = this.#parts;
    const called = await tools.turn(calls, model.calls, this.#parts.step());
    let answer: { readonly value: Json } | undefined;
    for (const call of called) {
      const { message, end } = call.done;
      if (message !== undefined) context.push(shortened(message, agent.context, log, agent.name));
      if (agent.answer.kind === 'tool' && call.part.name === agent.answer.tool && end.status === 'ok') answer = { value: answerOfCall(call.arguments) };
    }
    return answer;
  }
}
