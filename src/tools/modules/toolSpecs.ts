import type { ToolSpec } from '../../rollout/ports.ts';
import type { Effect } from '../../trace/schema.ts';
import type { WireTool } from './protocol.ts';
import type { StackMapper } from './userStack.ts';

/** Returns the tool specs of a module or world. */
export function toolSpecs(
  tools: readonly WireTool[],
  mapper: StackMapper,
  from: ToolSpec['from'],
  effect: Effect,
): ToolSpec[] {
  return tools.map((tool) => {
    const place = mapper.place(tool.defined);
    return {
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      effect: tool.effect ?? effect,
      // A world can be restored from a snapshot or by repeating calls; a module's variables cannot.
      sessionBound: from.kind === 'module' && tool.session === true,
      from,
      ...(tool.idempotent === true ? { idempotent: true } : {}),
      ...(tool.retry === undefined
        ? {}
        : { retry: { times: tool.retry.times, waitMs: (tool.retry.wait_seconds ?? 1) * 1000 } }),
      ...(tool.output === undefined ? {} : { output: tool.output }),
      ...(tool.timeout_seconds === undefined ? {} : { timeoutSeconds: tool.timeout_seconds }),
      ...(place === undefined ? {} : { place }),
    };
  });
}
