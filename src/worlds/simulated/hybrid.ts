/**
 * A real world, some of whose tools a model simulates, so that an agent can practice writes to a system that must not
 * be touched.
 *
 * `real` calls are made in the real session, and they alone change it. `simulated` calls never reach it. For an
 * `overlay`, the tool is called there, which must be pure, and the model changes the answer by what it has answered
 * before. As long as nothing was invented, the real answer is the answer: the model is not asked.
 */
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { Route } from '../../config/schema/simulatedWorld.ts';
import type { SubmittedSimulatedWorld, ToolDefinition } from '../../config/submission/world.ts';
import { matchesTool } from '../../config/tools/toolPattern.ts';
import type {
  AnsweredBy,
  Observed,
  OnLog,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolSpec,
  World,
  WorldSession,
} from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { filled, SimulatedSession } from './open.ts';
import type { SimulationTexts } from './prompt.ts';

/** `real`: what is simulated. */
export function hybridWorld(submitted: SubmittedSimulatedWorld, real: World): World {
  return {
    name: submitted.name,
    kind: submitted.kind,
    ...(real.about === undefined ? {} : { about: (task) => real.about?.(task) ?? {} }),
    open: async (input, signal) => {
      const texts = filled(submitted, input.task);
      const session = await real.open(input, signal);
      try {
        return new HybridSession(submitted, texts, session);
      } catch (error) {
        await session.close();
        throw error;
      }
    },
  };
}

class HybridSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  readonly prompt: string;
  readonly verify?: NonNullable<WorldSession['verify']>;
  readonly snapshot?: NonNullable<WorldSession['snapshot']>;
  readonly #name: string;
  readonly #real: WorldSession;
  readonly #model: SimulatedSession;
  readonly #routes: ReadonlyMap<string, Route>;
  /** Names of the tools whose answers were invented so far. */
  readonly #invented = new Set<string>();

  /** Throws StudioError `config` if the routes do not fit the tools. */
  constructor(world: SubmittedSimulatedWorld, texts: SimulationTexts, real: WorldSession) {
    this.#name = world.name;
    this.#real = real;
    const own = definitionsOf(real.specs);
    refuseDuplicates(world, own);
    const definitions = [...own, ...world.definitions];
    this.#model = new SimulatedSession({ ...world, definitions }, texts);
    this.prompt = this.#model.prompt;
    this.#routes = routesOf(world, definitions, real.specs);
    this.specs = this.#model.specs.map((simulated) => {
      const spec = real.specs.find(({ name }) => name === simulated.name);
      return spec === undefined ? simulated : specOf(spec, simulated, this.#routeOf(spec.name));
    });
    const absent = (what: string): Promise<never> => Promise.reject(new Error(`the real world has no ${what}`));
    if (real.snapshot !== undefined) this.snapshot = (signal) => real.snapshot?.(signal) ?? absent('snapshot');
    if (real.verify !== undefined)
      this.verify = async (input, context) => {
        this.#requireRealState();
        return await (real.verify?.(input, context) ?? absent('verify'));
      };
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    switch (this.#routeOf(call.name)) {
      case 'real':
        return await this.#real.call(call, context);
      case 'simulated':
        return await this.#model.call(call, context);
      case 'overlay':
        return await this.#overlay(call, context);
    }
  }

  observed(call: ToolCall, response: Json, how: Observed): void {
    const route = this.#routeOf(call.name);
    if (how.invented) this.#invented.add(call.name);
    this.#model.observed(call, response, how);
    if (route !== 'simulated') this.#real.observed?.(call, how.real ?? response, how);
  }

  /** A real world whose state is what the agents saw, such as a recorded one, repeats nothing. */
  answeredBy(tool: string): AnsweredBy {
    const route = this.#routeOf(tool);
    return route === 'simulated' || this.#real.observed === undefined
      ? route
      : (this.#real.answeredBy?.(tool) ?? 'overlay');
  }

  #routeOf(tool: string): Route {
    return this.#routes.get(tool) ?? 'simulated';
  }

  close(onLog?: OnLog): Promise<void> {
    return this.#real.close(onLog);
  }

  async #overlay(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const real = await this.#read(call, context);
    if (this.#invented.size === 0) {
      if (real instanceof ClassedError) throw real;
      return real;
    }
    const { response, parts } = real instanceof ClassedError ? { response: real.toResponse(), parts: undefined } : real;
    const outcome = await this.#model.call(call, context, response);
    return { ...outcome, ...(parts === undefined ? {} : { parts }), source: 'overlay', real: response };
  }

  /** Returns what the real tool returned, or the error of a call that it refused. */
  async #read(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome | ClassedError> {
    let outcome: ToolOutcome;
    try {
      outcome = await this.#real.call(call, context);
    } catch (error) {
      if (error instanceof ClassedError && error.class === 'tool_error') return error;
      throw error;
    }
    if ((outcome.changes?.length ?? 0) === 0) return outcome;
    throw new ClassedError(
      'world_error',
      `The tool ${call.name} is declared as pure, but it has changed the real world.`,
      { fatal: true },
    );
  }

  /** Throws ClassedError `world_error` if the final state is not only that of the real world. */
  #requireRealState(): void {
    const pure = new Set(this.#real.specs.filter(({ effect }) => effect === 'pure').map(({ name }) => name));
    const missing = [...this.#invented].filter((name) => !pure.has(name) && this.#routeOf(name) !== 'real');
    if (missing.length === 0) return;
    throw new ClassedError(
      'world_error',
      `The verifier of the real world cannot judge this attempt: calls of ${missing.join(', ')} were simulated, so ` +
        `their effects exist only for the agent. Route them to \`real\` in the world ${this.#name}, or use another ` +
        'scorer.',
    );
  }
}

function definitionsOf(specs: readonly ToolSpec[]): ToolDefinition[] {
  return specs.map(({ name, description, parameters, output }) => ({
    name,
    description,
    parameters,
    ...(output === undefined ? {} : { output }),
  }));
}

function refuseDuplicates({ name, definitions }: SubmittedSimulatedWorld, own: readonly ToolDefinition[]): void {
  const twice = definitions.find((definition) => own.some((other) => other.name === definition.name));
  if (twice === undefined) return;
  throw new StudioError('config', `The world ${name} defines the tool ${twice.name}, which its real world has.`, {
    hint: 'Remove the definition: `tools` can only add tools that do not exist there.',
  });
}

/** Returns who answers each tool. Throws StudioError `config` for a route that names no tool, or one that cannot be. */
function routesOf(
  { name: world, route = [] }: SubmittedSimulatedWorld,
  definitions: readonly ToolDefinition[],
  real: readonly ToolSpec[],
): ReadonlyMap<string, Route> {
  const names = definitions.map(({ name }) => name);
  const routes = new Map<string, Route>();
  for (const { tools, by } of route)
    for (const pattern of tools) {
      const matching = names.filter((name) => matchesTool(pattern, name));
      if (matching.length === 0)
        throw new StudioError('config', `\`${pattern}\` in \`route\` of the world ${world} names none of its tools.`, {
          hint: `Its tools: ${names.join(', ')}.`,
        });
      for (const name of matching) if (!routes.has(name)) routes.set(name, by);
    }
  for (const [name, by] of routes) {
    const spec = real.find((one) => one.name === name);
    if (by !== 'simulated' && spec === undefined)
      throw new StudioError('config', `The tool ${name} of the world ${world} exists only as a definition.`, {
        hint: `Route it to \`simulated\`, not \`${by}\`.`,
      });
    if (by === 'overlay' && spec?.effect !== 'pure')
      throw new StudioError('config', `The tool ${name} of the world ${world} may write, so it cannot be an overlay.`, {
        hint: 'Route it to `simulated`; or declare `effect: pure` where it is written, if it only reads.',
      });
  }
  return routes;
}

/** Returns how the rollout runs a tool of the real world. */
function specOf(real: ToolSpec, simulated: ToolSpec, by: Route): ToolSpec {
  if (by === 'real') return real;
  const effect = real.effect === 'pure' ? 'pure' : simulated.effect;
  const { timeoutSeconds } = real;
  return { ...simulated, effect, ...(by === 'simulated' || timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
}
