import { isJsonObject, type Json } from '../../common/json.ts';
import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Log } from '../log/log.ts';
import { type LoggedMessage, textOf } from '../log/messages.ts';
import type { ToolCaller, ToolCallPart } from '../tools/toolCalls.ts';
import type { ToldTools } from '../tools/toolSet.ts';
import { answerOf, answerOfCall } from './answer.ts';
import { divide, dropNotice, shortened, summaryOf, summaryRequest, withoutReasoning } from './compaction.ts';
import type { Context } from './context.ts';
import type { Allowance } from './limits.ts';
import type { ModelCaller } from './modelCall.ts';
import type { SimulatedUser } from './user.ts';

/** What to do where the prompt, the tools, the question and the newest turn alone are too long. */
const NOTHING_TO_LEAVE_OUT =
  'There is no older step to leave out: shorten the prompt or the question, offer fewer tools, lower ' +
  'context.tool_result_tokens, or let the model have a longer context (vLLM: --max-model-len).';
/** What to do where the agent's file wants that its context is left as it is. */
const LEAVE_OUT =
  'Leave out the oldest steps (context.overflow: drop_oldest or summarize), lower context.tool_result_tokens, or ' +
  'let the model have a longer context (vLLM: --max-model-len).';

export interface AgentParts {
  readonly agent: SubmittedAgent;
  readonly log: Log;
  /** Instance path. */
  readonly path: string;
  readonly limits: Allowance;
  readonly context: Context;
  readonly model: ModelCaller;
  readonly tools: ToolCaller;
  readonly told: ToldTools;
  readonly user: SimulatedUser | undefined;
  /** Members that it may hand the work to, by the names of the tools. */
  readonly handoffs: ReadonlyMap<string, string>;
  makeContext(messages: readonly LoggedMessage[]): Context;
}

/** How an agent's work ended: with its answer (null when the rule finds none), or handed to a member of its team. */
export type AgentEnd = { readonly answer: Json } | { readonly handTo: string; readonly message: string };

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
  #last: LoggedMessage | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Begins with these messages. Throws ClassedError. */
  async run(opening: readonly LoggedMessage[]): Promise<AgentEnd> {
    const { agent, context, user } = this.#parts;
    context.push(...opening);
    this.#fixed = opening.length;
    for (;;) {
      const reply = await this.#think();
      const calls = reply.parts.filter((part): part is ToolCallPart => part.type === 'tool_call');
      if (calls.length > 0) {
        const end = await this.#useTools(calls);
        if (end !== undefined) return end;
        continue;
      }
      this.#said = textOf(reply.parts);
      if (user === undefined) return { answer: answerOf(agent.answer, this.#said) };
      const heard = await user.answer(reply);
      if (heard === undefined) return { answer: answerOf(agent.answer, this.#said) };
      context.push(heard);
    }
  }

  /** What counts as the answer when the rollout is cut short: in a conversation the last thing said, else nothing. */
  get answerSoFar(): Json {
    const { agent, user } = this.#parts;
    return user === undefined || this.#said === undefined ? null : answerOf(agent.answer, this.#said);
  }

  /** Its model's newest message. */
  get last(): LoggedMessage | undefined {
    return this.#last;
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
        this.#last = message;
        context.push(withoutReasoning(message, agent.context, log, this.#parts.path));
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
    const { agent, path, log, context } = this.#parts;
    const division = divide(context.items, this.#fixed);
    if (division === undefined) throw new ClassedError('context_overflow', `${message} ${NOTHING_TO_LEAVE_OUT}`);
    if (agent.context.overflow === 'fail') throw new ClassedError('context_overflow', `${message} ${LEAVE_OUT}`);
    const { fixed, old, recent } = division;
    const summary = agent.context.overflow === 'summarize' ? await this.#sumUp([...fixed, ...old]) : undefined;
    const standIn = summary === undefined ? dropNotice(old, log, path) : summaryOf(summary, log, path);
    context.rewrite([...fixed, standIn, ...recent]);
  }

  /** The model's own summary; undefined when even that does not fit, and the messages are dropped. */
  async #sumUp(messages: readonly LoggedMessage[]): Promise<string | undefined> {
    const { path, log } = this.#parts;
    const { end, message } = await this.#call(this.#parts.makeContext([...messages, summaryRequest(log, path)]));
    if (message !== undefined) return textOf(message.parts);
    if (end.error !== undefined && end.error.class !== 'context_overflow')
      throw new ClassedError(end.error.class, end.error.message);
    return undefined;
  }

  /**
   * Makes the calls; gives the end when one of them went well that ends the work: the answering tool's, or a handoff.
   */
  async #useTools(calls: readonly ToolCallPart[]): Promise<AgentEnd | undefined> {
    const { agent, path, log, context, model, tools, handoffs } = this.#parts;
    const called = await tools.turn(calls, model.calls, model.step);
    let over: AgentEnd | undefined;
    for (const call of called) {
      const { message, end } = call.done;
      if (message !== undefined) context.push(shortened(message, agent.context, log, path));
      if (end.status !== 'ok') continue;
      const handTo = handoffs.get(call.part.name);
      if (handTo !== undefined) over ??= { handTo, message: handoffMessage(call.arguments) };
      else if (agent.answer.kind === 'tool' && call.part.name === agent.answer.tool)
        over = { answer: answerOfCall(call.arguments) };
    }
    return over;
  }
}

function handoffMessage(args: Json): string {
  return isJsonObject(args) && typeof args['message'] === 'string' ? args['message'] : '';
}
