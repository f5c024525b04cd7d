import type { SubmittedModel } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Outcome } from '../act/act.ts';
import type { InjectedMessage } from '../act/history.ts';
import type { Edits } from '../gates/edits.ts';
import type { Log } from '../log/log.ts';
import { type Sha256, textOf } from '../log/messages.ts';
import { TokenChain } from '../log/tokens.ts';
import type { ModelClient, ModelReply, SideQuestion } from '../ports.ts';
import { Context } from './context.ts';
import { ModelCaller, type ModelCallerAgent, type ModelCallerParts } from './modelCall.ts';

export interface SideModelParts {
  /** What its calls need, except for steps. */
  readonly models: Omit<ModelCallerParts, 'nextStep'>;
  readonly log: Log;
  readonly edits: Edits;
  readonly sha256: Sha256;
  /** Returns the messages that people injected for a path. */
  inbox(path: string): InjectedMessage[];
  /** Returns the number of the step that contains a call made now; 0 before the first one. */
  step(): number;
}

interface SideModel {
  readonly side: string;
  readonly model: SubmittedModel;
  readonly client: ModelClient;
  readonly show?: NonNullable<ModelCallerAgent['show']>;
  readonly reply: (reply: ModelReply) => NonNullable<Outcome<'model'>['message']>;
  readonly whyNot: string;
}

/** Returns the path under which the calls of a side model are recorded: no agent has it. */
export function sidePath(side: string, agentName: string): string {
  if (agentName !== side) return side;
  return side === 'user' ? 'simulated_user' : `${side}_model`;
}

/** Creates what makes the calls of a side model. They are calls like any other, but not steps. */
export function sideCaller(parts: SideModelParts, path: string, of: SideModel): ModelCaller {
  const { model, ...rest } = of;
  return new ModelCaller(
    { ...parts.models, nextStep: () => parts.step() },
    {
      ...rest,
      path,
      model: { ...model, capture: { token_ids: false, logprobs: false } },
      // Tokens are not captured.
      tokens: new TokenChain(parts.sha256, () => Promise.reject(new Error('a side model has no token records'))),
    },
  );
}

/** Asks side models questions that do not belong to a conversation: each is one call with a context of its own. */
export class SideModels {
  readonly #parts: SideModelParts;
  readonly #agentName: string;
  readonly #clientOf: (model: SubmittedModel) => ModelClient;
  readonly #callers = new Map<string, ModelCaller>();

  constructor(parts: SideModelParts, agentName: string, clientOf: (model: SubmittedModel) => ModelClient) {
    this.#parts = parts;
    this.#agentName = agentName;
    this.#clientOf = clientOf;
  }

  /** Returns the text of the reply. Throws ClassedError: the error of the call. */
  async ask({ side, model, messages }: SideQuestion): Promise<string> {
    const { log, edits, sha256 } = this.#parts;
    const path = sidePath(side, this.#agentName);
    let caller = this.#callers.get(side);
    if (caller === undefined) {
      caller = sideCaller(this.#parts, path, {
        side,
        model,
        client: this.#clientOf(model),
        reply: ({ parts }) => ({ role: 'assistant', parts, origin: 'given', from: path, side }),
        whyNot: `it is a call of the side model ${side}`,
      });
      this.#callers.set(side, caller);
    }
    const context = new Context(edits, this.#parts.inbox(path), sha256);
    for (const { role, text } of messages) {
      const parts = [{ type: 'text', content: text } as const];
      context.push(log.intern({ role, parts, origin: 'given', to: path, side }, path));
    }
    const { end, message } = await caller.call(context);
    if (message !== undefined) return textOf(message.parts);
    throw new ClassedError(end.error?.class ?? 'model_error', end.error?.message ?? 'The model returned no message.');
  }
}
