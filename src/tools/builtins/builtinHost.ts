import { z } from 'zod';
import type { JsonObject } from '../../common/json.ts';
import type { ToolCall, ToolCallContext, ToolHost, ToolOutcome, ToolSpec } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Effect } from '../../trace/schema.ts';

/** A built-in tool. */
export interface BuiltinTool {
  readonly spec: ToolSpec;
  run(args: JsonObject, context: ToolCallContext): Promise<ToolOutcome>;
}

interface Definition<Input extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  readonly effect: Effect;
  /** Whether it changes the working directory, which is lost with the worker. */
  readonly sessionBound: boolean;
  /** Throws ClassedError. */
  run(args: z.output<Input>, context: ToolCallContext): Promise<ToolOutcome> | ToolOutcome;
}

/** Creates a built-in tool of the set `from`. Arguments are checked before `run`. */
export function builtin<Input extends z.ZodObject>(from: string, definition: Definition<Input>): BuiltinTool {
  // a JSON Schema is JSON
  const parameters = z.toJSONSchema(definition.input, { target: 'draft-2020-12', io: 'input' }) as JsonObject;
  delete parameters['$schema'];
  return {
    spec: {
      name: definition.name,
      description: definition.description,
      parameters,
      effect: definition.effect,
      sessionBound: definition.sessionBound,
      from: { kind: 'builtin', name: from },
    },
    run: async (args, context) => {
      const checked = definition.input.safeParse(args);
      if (!checked.success) {
        throw new ClassedError(
          'invalid_arguments',
          checked.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
        );
      }
      return definition.run(checked.data, context);
    },
  };
}

/** A set of built-in tools as a host. Closing it aborts running calls. */
export class BuiltinHost implements ToolHost {
  readonly specs: readonly ToolSpec[];
  readonly #tools: ReadonlyMap<string, BuiltinTool>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  readonly #end: (() => Promise<void>) | undefined;

  /** `end` releases what the tools share, when no call is running. */
  constructor(tools: readonly BuiltinTool[], end?: () => Promise<void>) {
    this.#end = end;
    this.specs = tools.map((tool) => tool.spec);
    this.#tools = new Map(tools.map((tool) => [tool.spec.name, tool]));
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const tool = this.#tools.get(call.name);
    if (tool === undefined) throw new ClassedError('unknown_tool', `Unknown tool "${call.name}".`);
    const signal = AbortSignal.any([context.signal, this.#closing.signal]);
    const running = tool.run(call.arguments, {
      signal,
      seed: context.seed,
      onLog: (stream, text) => {
        context.onLog(stream, text);
      },
      onProgress: () => {
        context.onProgress();
      },
    });
    const settled = running.catch(() => undefined).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
    return running;
  }

  async close(): Promise<void> {
    this.#closing.abort(new ClassedError('cancelled', 'The rollout has ended.'));
    await Promise.all(this.#running);
    await this.#end?.();
  }
}
