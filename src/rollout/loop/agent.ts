import { isJsonObject, type Json } from '../../common/json.ts';
import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Log } from '../log/log.ts';
import { type LoggedMessage, textOf } from '../log/messages.ts';
import type { UntrustedWork } from '../ports.ts';
import type { Stop } from '../stop.ts';
import type { ToolCaller } from '../tools/toolCalls.ts';
import type { ToolCallPart } from '../tools/toolEvents.ts';
import type { ModelTools } from '../tools/toolSet.ts';
import { answerOf, answerOfCall } from './answer.ts';
import { divide, dropNotice, shortened, summaryOf, summaryRequest, withoutReasoning } from './compaction.ts';
import type { Context } from './context.ts';
import type { Allowance } from './limits.ts';
import type { ModelCaller } from './modelCall.ts';
import type { SimulatedUser } from './user.ts';

/** Hint if the prompt, the tools, the question, and the newest turn alone are too long. */
const NOTHING_TO_DROP_HINT =
  'There are no older steps to drop: shorten the prompt or the question, use fewer tools, decrease ' +
  'context.tool_result_tokens, or increase the context length of the model (vLLM: --max-model-len).';
/** Hint if the agent file does not allow changing the context. */
const OVERFLOW_HINT =
  'Drop the oldest steps (context.overflow: drop_oldest or summarize), decrease context.tool_result_tokens, or ' +
  'increase the context length of the model (vLLM: --max-model-len).';

export interface AgentParts {
  readonly agent: SubmittedAgent;
  readonly log: Log;
  /** Instance path. */
  readonly path: string;
  readonly limits: Allowance;
  readonly context: Context;
  readonly model: ModelCaller;
  readonly tools: ToolCaller;
  readonly modelTools: ModelTools;
  readonly user: SimulatedUser | undefined;
  /** Members that it can hand off to, by tool name. */
  readonly handoffs: ReadonlyMap<string, string>;
  readonly untrusted: UntrustedWork;
  /** Ends its work. */
  readonly stop: Stop;
  /** Ends the rollout without a result. */
  readonly life: Stop;
  makeContext(messages: readonly LoggedMessage[]): Context;
}

/** How an agent ended: with its answer (null if the rule finds none), or with a handoff to a team member. */
export type AgentEnd = { readonly answer: Json } | { readonly handTo: string; readonly message: string };

/**
 * The loop of one agent: model call, tool calls, model call, … until it answers. It accesses time, randomness, and
 * the environment only through `act`, so that running it again over a prefix has the same result.
 */
export class Agent {
  readonly #parts: AgentParts;
  /** Messages at the start of the context that compaction never removes. */
  #fixed = 0;
  /** The newest message without tool calls. */
  #lastText: string | undefined;
  #last: LoggedMessage | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Runs the agent, starting with these messages. Throws ClassedError. */
  async run(opening: readonly LoggedMessage[]): Promise<AgentEnd> {
    const { context, user, stop } = this.#parts;
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
      this.#lastText = textOf(reply.parts);
      if (user === undefined) return { answer: await this.#answer(this.#lastText, stop) };
      const userMessage = await user.answer(reply);
      if (userMessage === undefined) return { answer: await this.#answer(this.#lastText, stop) };
      context.push(userMessage);
    }
  }

  /** Returns the answer if the rollout is truncated: in a conversation, the last message; otherwise, none. */
  async answerSoFar(): Promise<Json> {
    const { user, life } = this.#parts;
    return user === undefined || this.#lastText === undefined ? null : this.#answer(this.#lastText, life);
  }

  #answer(text: string, stop: Stop): Promise<Json> {
    const { agent, untrusted } = this.#parts;
    return stop.race(answerOf(agent.answer, text, untrusted, stop.signal));
  }

  /** The newest message of its model. */
  get last(): LoggedMessage | undefined {
    return this.#last;
  }

  /** The messages of the last model call, with its reply. */
  get messages(): readonly LoggedMessage[] {
    return this.#parts.context.view();
  }

  /** Returns the next message of the model, compacting the context if needed and allowed. */
  async #think(): Promise<LoggedMessage> {
    const { agent, log, context, modelTools } = this.#parts;
    for (;;) {
      const { end, message } = await this.#call(context, modelTools);
      if (message !== undefined) {
        this.#last = message;
        context.push(withoutReasoning(message, agent.context, log, this.#parts.path));
        context.markSeen();
        return message;
      }
      const error = end.error ?? { class: 'model_error', message: 'The model returned no message.' };
      if (error.class !== 'context_overflow') throw new ClassedError(error.class, error.message);
      await this.#compact(error.message);
    }
  }

  async #call(context: Context, modelTools?: ModelTools): ReturnType<ModelCaller['call']> {
    const { limits, model } = this.#parts;
    limits.step();
    const done = await model.call(context, modelTools);
    const { usage } = done.end;
    if (usage !== undefined) limits.addUsage(usage);
    return done;
  }

  async #compact(message: string): Promise<void> {
    const { agent, path, log, context } = this.#parts;
    const division = divide(context.items, this.#fixed);
    if (division === undefined) throw new ClassedError('context_overflow', `${message} ${NOTHING_TO_DROP_HINT}`);
    if (agent.context.overflow === 'fail') throw new ClassedError('context_overflow', `${message} ${OVERFLOW_HINT}`);
    const { fixed, old, recent } = division;
    const summary = agent.context.overflow === 'summarize' ? await this.#sumUp([...fixed, ...old]) : undefined;
    const standIn = summary === undefined ? dropNotice(old, log, path) : summaryOf(summary, log, path);
    context.rewrite([...fixed, standIn, ...recent]);
  }

  /** Returns the model's summary; undefined if even that request is too long and the messages are dropped. */
  async #sumUp(messages: readonly LoggedMessage[]): Promise<string | undefined> {
    const { path, log } = this.#parts;
    const { end, message } = await this.#call(this.#parts.makeContext([...messages, summaryRequest(log, path)]));
    if (message !== undefined) return textOf(message.parts);
    if (end.error !== undefined && end.error.class !== 'context_overflow')
      throw new ClassedError(end.error.class, end.error.message);
    return undefined;
  }

  /**
   * Makes the calls; returns the end if one of them ends the work: a successful answer tool or handoff.
   */
  async #useTools(calls: readonly ToolCallPart[]): Promise<AgentEnd | undefined> {
    const { agent, path, log, context, limits, model, tools, handoffs } = this.#parts;
    const finished = await tools.turn(calls, model.calls, model.step);
    let result: AgentEnd | undefined;
    for (const call of finished) {
      const { message, end } = call.done;
      if (message !== undefined) context.push(shortened(message, agent.context, log, path));
      limits.addCall(path, call.part.name, call.arguments, end.status !== 'ok');
      if (end.status !== 'ok') continue;
      const handTo = handoffs.get(call.part.name);
      if (handTo !== undefined) result ??= { handTo, message: handoffMessage(call.arguments) };
      else if (agent.answer.kind === 'tool' && call.part.name === agent.answer.tool)
        result = { answer: answerOfCall(call.arguments) };
    }
    return result;
  }
}

function handoffMessage(args: Json): string {
  return isJsonObject(args) && typeof args['message'] === 'string' ? args['message'] : '';
}
