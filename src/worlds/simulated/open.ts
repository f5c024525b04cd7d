import type { Json } from '../../common/json.ts';
import { observationOf } from '../../common/observation.ts';
import { plural, sentence } from '../../common/text.ts';
import { fillPrompt } from '../../config/prompt.ts';
import { actionOf, observationText } from '../../config/simulation/text.ts';
import type { SubmittedSimulatedWorld } from '../../config/submission/world.ts';
import type {
  Ask,
  Observed,
  SideQuestion,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolSpec,
  World,
  WorldSession,
} from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { DOMAINS } from './domains.ts';
import { correction, messagesFor, type SimulationTexts, systemPrompt, type Turn } from './prompt.ts';

/** The name under which calls of the world model are recorded. */
const SIDE = 'world';
/** How often a reply without an observation is asked for, each time with another seed. */
const TRIES = 3;
/** Longer observations are cut off: a model that repeats itself must not fill the agent's context. */
const MAX_CHARS = 60_000;

/**
 * A world that a language model plays. Its state is what the agents saw, so it needs no process, no snapshot, and no
 * repeated call: whoever continues a rollout tells it the recorded calls.
 */
export function simulatedWorld(submitted: SubmittedSimulatedWorld): World {
  return {
    name: submitted.name,
    kind: submitted.kind,
    open: ({ task }) => Promise.resolve(new SimulatedSession(submitted, filled(submitted, task))),
  };
}

/** Throws ClassedError `world_error` if a text uses a field that the task lacks. */
export function filled({ texts, literal, name }: SubmittedSimulatedWorld, task: TaskRecord): SimulationTexts {
  return Object.fromEntries(
    Object.entries(texts).map(([part, text]) => {
      if (literal?.some((one) => one === part) === true) return [part, text];
      const value = fillPrompt(text, task);
      if (value === undefined)
        throw new ClassedError(
          'world_error',
          `\`${part}\` of the world ${name} uses a field that the task ${task.id} does not have.`,
        );
      return [part, value];
    }),
  );
}

/** Returns what is wrong with an observation. */
type Check = (observation: string) => readonly string[];

type Answered = { readonly outcome: ToolOutcome } | { readonly problems: readonly string[] };

/** What the model plays. Its state is what `observed` has received. */
export class SimulatedSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  readonly prompt: string;
  readonly #world: SubmittedSimulatedWorld;
  readonly #state: string | undefined;
  readonly #turns: Turn[] = [];
  readonly #factsOf: (call: ToolCall) => string | undefined;

  /** `factsOf`: what the model is told for a call. */
  constructor(
    world: SubmittedSimulatedWorld,
    texts: SimulationTexts,
    factsOf: (call: ToolCall) => string | undefined = () => undefined,
  ) {
    this.#world = world;
    this.#factsOf = factsOf;
    this.prompt = systemPrompt(world, texts);
    this.#state = DOMAINS[world.domain].stateInTurn === true ? texts.state : undefined;
    this.specs = world.definitions.map(({ name, description, parameters, output }) => ({
      name,
      description,
      parameters,
      ...(output === undefined ? {} : { output }),
      effect: 'restorable',
      sessionBound: false,
      from: { kind: 'world', name: world.name },
    }));
  }

  /** `real`: what a real system has returned, which the model changes by what it has answered before. */
  async call(call: ToolCall, context: ToolCallContext, real?: Json): Promise<ToolOutcome> {
    const answered = await this.#answer(call, context, real, () => []);
    if ('outcome' in answered) return answered.outcome;
    throw new ClassedError(
      'world_error',
      `The model that plays the world ${this.#world.name} replied ${TRIES} times without an observation.`,
      { fatal: true },
    );
  }

  /**
   * As `call`, for an observation with which nothing may be wrong: what is, the model is told when it is asked again.
   * Returns what was wrong with the last one if none is right.
   */
  checkedCall(call: ToolCall, context: ToolCallContext, problemsOf: Check): Promise<Answered> {
    return this.#answer(call, context, undefined, problemsOf);
  }

  async #answer(
    call: ToolCall,
    { ask }: ToolCallContext,
    real: Json | undefined,
    problemsOf: Check,
  ): Promise<Answered> {
    if (ask === undefined)
      throw new ClassedError('world_error', 'A simulated world answers only in a rollout: its model is not available.');
    const messages = messagesFor(this.prompt, this.#state, this.#turns, this.#turnOf(call, real));
    let again: SideQuestion['messages'] = [];
    let problems: readonly string[] = [];
    for (let tried = 0; tried < TRIES; tried++) {
      const reply = await this.#ask(ask, [...messages, ...again]);
      const observation = observationOf(reply);
      problems = observation === undefined ? ['It is empty'] : problemsOf(observation);
      if (observation === undefined) continue;
      if (problems.length === 0) return { outcome: outcomeOf(observation) };
      again = correction(observation, problems);
    }
    return { problems };
  }

  #turnOf(call: ToolCall, real: Json | undefined): Omit<Turn, 'observation'> {
    const facts = this.#factsOf(call);
    return {
      action: actionOf(call.name, call.arguments),
      ...(real === undefined ? {} : { real: observationText(real) }),
      ...(facts === undefined ? {} : { facts }),
    };
  }

  /** Asks the model. If it cannot answer, the attempt ends without a score: the agent is not to blame. */
  async #ask(ask: Ask, messages: SideQuestion['messages']): Promise<string> {
    try {
      return await ask({ side: SIDE, model: this.#world.model, messages });
    } catch (thrown) {
      if (!(thrown instanceof ClassedError)) throw thrown;
      const { name, model } = this.#world;
      const fatal = (message: string): ClassedError =>
        new ClassedError('world_error', message, { fatal: true, cause: thrown });
      switch (thrown.class) {
        case 'context_overflow': {
          const calls = this.#turns.length;
          throw fatal(
            `After ${plural(calls, 'call')}, the history of the world ${name} no longer fits in the context of ` +
              `${model.name}: ${sentence(thrown.message)} Shorten its state, or serve the model with a longer ` +
              'context; rollout check shows how many calls fit.',
          );
        }
        case 'model_error':
        case 'malformed_output':
          throw fatal(`The model that plays the world ${name} failed: ${thrown.message}`);
        default:
          throw thrown;
      }
    }
  }

  observed(call: ToolCall, response: Json, { real }: Observed): void {
    this.#turns.push({ ...this.#turnOf(call, real), observation: observationText(response) });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function outcomeOf(observation: string): ToolOutcome {
  if (observation.length <= MAX_CHARS) return { response: observation, source: 'simulated' };
  const cut = observation.length - MAX_CHARS;
  return {
    response: `${observation.slice(0, MAX_CHARS)}\n[${cut.toLocaleString('en')} characters were cut off]`,
    cut,
    source: 'simulated',
  };
}
