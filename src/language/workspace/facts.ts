/**
 * Facts from outside the files, which the host of the service queries in the background.
 */
import type { JsonObject } from '../../common/json.ts';
import type { Problem } from '../../config/source/problem.ts';
import type { QueueInfo } from '../../protocol/shares.ts';

export interface ToolInfo {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of its arguments. */
  readonly input?: JsonObject;
}

export interface TargetQueues {
  readonly target: string;
  readonly queues: readonly QueueInfo[];
}

/** An endpoint in a file, with `${env:…}` as written. */
export interface EndpointRef {
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An MCP server in a file. */
export interface McpServerRef {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Methods return the known facts, or undefined if there are none yet. `allowQuery` is for saved files
 * only, because a partly typed name could reach another server.
 */
export interface Facts {
  /** Returns the models that an endpoint serves. */
  models(ref: EndpointRef, allowQuery: boolean): readonly string[] | undefined;
  /** Returns a server's `tools/list`. `folder` is that of the referencing file. */
  mcpTools(ref: McpServerRef, folder: string, allowQuery: boolean): readonly ToolInfo[] | undefined;
  /** Returns the tools of a built-in set. */
  builtinTools(set: string): readonly ToolInfo[] | undefined;
  /**
   * Returns what the lint finds in the scenario that a saved world file names. `stamp` changes with its files.
   */
  worldProblems(file: string, stamp: string): readonly Problem[] | undefined;
  /** Returns the variables with a value, in the environment or stored by the editor. */
  envNames(): readonly string[];
  /**
   * Returns the queues of the server where a batch runs: of the target that its file names, or else of the one in use.
   * Empty: the server has none.
   */
  queues(target: string | undefined): TargetQueues | undefined;
  /** Returns the number of tokens of a text for a model. */
  tokens(ref: EndpointRef, model: string, text: string): number | undefined;
}

export const NO_FACTS: Facts = {
  models: () => undefined,
  mcpTools: () => undefined,
  builtinTools: () => undefined,
  worldProblems: () => undefined,
  envNames: () => [],
  queues: () => undefined,
  tokens: () => undefined,
};
