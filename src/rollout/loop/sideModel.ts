import { seedOf } from '../../common/hash.ts';
import { withoutUndefined } from '../../common/withoutUndefined.ts';
import type { SubmittedModel } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { InjectedMessage } from '../act/history.ts';
import type { InsideCalls } from '../act/insideCalls.ts';
import type { Edits } from '../gates/edits.ts';
import type { Log } from '../log/log.ts';
import { type Sha256, textOf } from '../log/messages.ts';
import { TokenChain } from '../log/tokens.ts';
import type { ModelClient, SideQuestion } from '../ports.ts';
import { Context } from './context.ts';
import { ModelCaller, type ModelCallerAgent, type ModelCallerParts } from './modelCall.ts';

export interface SideModelParts {
  /** What its calls need, except for steps. */
  readonly models: Omit<ModelCallerParts, 'nextStep' | 'stop' | 'rolloutSeed'>;
  readonly log: Log;
  readonly edits: Edits;
  readonly sha256: Sha256;
  readonly inside: InsideCalls;
  /** Returns the messages that people injected for a path. */
  inbox(path: string): InjectedMessage[];
}

/** Where calls of side models belong, and what ends them. */
export interface SidePlace extends Pick<ModelCallerParts, 'stop' | 'rolloutSeed'> {
  /** Returns the number of the step that contains a call made now; 0 before the first one. */
  step(): number;
}

type SideModel = Omit<ModelCallerAgent, 'tokens' | 'path'> & { readonly side: string; readonly whyNot: string };

/** Maximum number of questions of one tool call or scorer, so that code that asks in a loop ends. */
const MAX_QUESTIONS = 256;

/** Returns the path under which the calls of a side model are recorded: no agent has it. */
export function sidePath(side: string, agentName: string): string {
  if (agentName !== side) return side;
  return side === 'user' ? 'simulated_user' : `${side}_model`;
}

/** Creates what makes the calls of a side model. They are calls like any other, but not steps. */
export function sideCaller(parts: SideModelParts, place: SidePlace, path: string, of: SideModel): ModelCaller {
  const { stop, rolloutSeed } = place;
  return new ModelCaller(
    { ...parts.models, stop, rolloutSeed, nextStep: () => place.step() },
    {
      ...of,
      path,
      model: { ...of.model, capture: { token_ids: false, logprobs: false } },
      // Tokens are not captured.
      tokens: new TokenChain(parts.sha256, () => Promise.reject(new Error('a side model has no token records'))),
    },
  );
}

/** A tool call whose code asks side models. */
export interface AskingCall extends SidePlace {
  /** seq of its `tool.start`. */
  readonly span: number;
  /** The agent that made it. */
  readonly agent: string;
  /** seq of the recorded call that it makes again. */
  readonly lost: number | undefined;
  /** Its recorded answers are used in order, even if the questions differ. */
  readonly inOrder?: boolean;
  /** Called when it starts and stops waiting for the reply of a side model. */
  onWait(waiting: boolean): void;
}

/** Asks side models questions that do not belong to a conversation: each is one call with a context of its own. */
export class SideModels {
  readonly #parts: SideModelParts;
  readonly #agentName: string;
  readonly #clientOf: (model: SubmittedModel) => ModelClient;
  readonly #clients = new Map<SubmittedModel, ModelClient>();

  constructor(parts: SideModelParts, agentName: string, clientOf: (model: SubmittedModel) => ModelClient) {
    this.#parts = parts;
    this.#agentName = agentName;
    this.#clientOf = clientOf;
  }

  /** Returns what asks during scoring. */
  ofScorer(place: SidePlace): Questions {
    return new Questions('The scorer', place.rolloutSeed, (question, seed) =>
      this.#ask(question, { ...place, rolloutSeed: seed }, undefined),
    );
  }

  /** Returns what asks for a tool call, in all its tries. `name`: its tool. */
  ofTool(name: string, seed: number, call: () => AskingCall): Questions {
    return new Questions(name, seed, (question, seedOfQuestion) => {
      const now = call();
      return this.#ask(question, { ...now, rolloutSeed: seedOfQuestion }, now);
    });
  }

  async #ask(question: SideQuestion, place: SidePlace, call: AskingCall | undefined): Promise<string> {
    const { side, model, messages, sampling } = question;
    const { log, edits, sha256, inside } = this.#parts;
    const path = sidePath(side, this.#agentName);
    const caller = sideCaller(this.#parts, place, path, {
      side,
      model:
        sampling === undefined ? model : { ...model, sampling: { ...model.sampling, ...withoutUndefined(sampling) } },
      client: this.#client(model),
      reply: ({ parts }) => ({ role: 'assistant', parts, origin: 'given', from: path, side }),
      whyNot: `it is a call of the side model ${side}`,
      ...(call === undefined
        ? {}
        : {
            parent: call.span,
            within: call.lost ?? call.span,
            caller: call.agent,
            stop: place.stop,
            ...(call.inOrder === undefined ? {} : { inOrder: call.inOrder }),
          }),
    });
    const context = new Context(edits, this.#parts.inbox(path), sha256);
    // The tool is not to blame for a model that is slow, gone, or silent amid its reply.
    call?.onWait(true);
    try {
      for (const { role, text } of messages) {
        const parts = [{ type: 'text', content: text } as const];
        context.push(log.intern({ role, parts, origin: 'given', to: path, side }, path));
      }
      const key = context.key(0);
      const { span, start, end, endSeq, message } = await caller.call(context);
      if (call !== undefined)
        inside.add({ within: call.span, seq: span, key, start, end: { seq: endSeq, data: end, message } });
      if (message !== undefined) return textOf(message.parts);
      throw new ClassedError(end.error?.class ?? 'model_error', end.error?.message ?? 'The model returned no message.');
    } finally {
      call?.onWait(false);
    }
  }

  #client(model: SubmittedModel): ModelClient {
    let client = this.#clients.get(model);
    if (client === undefined) this.#clients.set(model, (client = this.#clientOf(model)));
    return client;
  }
}

/** The questions of one tool call or scorer. */
export class Questions {
  readonly #who: string;
  readonly #seed: number;
  readonly #send: (question: SideQuestion, seed: number) => Promise<string>;
  readonly #asked: { readonly question: SideQuestion; readonly answer: Promise<string> }[] = [];
  /** Answers of a try that is made again because its thread was lost. */
  #again: { readonly question: SideQuestion; readonly answer: Promise<string> }[] = [];

  constructor(who: string, seed: number, send: (question: SideQuestion, seed: number) => Promise<string>) {
    this.#who = who;
    this.#seed = seed;
    this.#send = send;
  }

  /** Throws ClassedError. */
  async ask(question: SideQuestion): Promise<string> {
    const at = this.#again.findIndex((one) => isSame(one.question, question));
    if (at >= 0) {
      const [again] = this.#again.splice(at, 1);
      if (again !== undefined) return again.answer;
    }
    if (this.#asked.length >= MAX_QUESTIONS)
      throw new ClassedError(
        'tool_error',
        `${this.#who} asked models ${MAX_QUESTIONS} times, which is the maximum of one call.`,
      );
    const answer = this.#send(question, seedOf(this.#seed, question.side, this.#asked.length));
    answer.catch(() => undefined); // nobody may wait for it
    this.#asked.push({ question, answer });
    return answer;
  }

  /** The same code runs again from the start: what it asked already is not asked again. */
  again(): void {
    this.#again = [...this.#asked];
  }

  /** Resolves when none is open anymore. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#asked.map(({ answer }) => answer));
  }
}

function isSame(one: SideQuestion, other: SideQuestion): boolean {
  return (
    one.side === other.side &&
    one.messages.length === other.messages.length &&
    one.messages.every(({ role, text }, index) => {
      const message = other.messages[index];
      return message?.role === role && message.text === text;
    })
  );
}
