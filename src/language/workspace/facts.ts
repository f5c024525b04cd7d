/**
 * What lies outside of the files: asked in the background by whoever composes the service, so that nobody waits for it.
 */
import type { JsonObject } from '../../common/json.ts';

export interface KnownTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of its arguments. */
  readonly input?: JsonObject;
}

/** An endpoint as a file names it, with `${env:…}` as written. */
export interface EndpointQuestion {
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server as a file names it. */
export interface McpQuestion {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers are what is known by now; undefined: nothing yet, or nothing can be had. With `ask` a look may begin: only
 * for
 * what stands in a saved file, for a name that is half typed leads to somebody else.
 */
export interface Facts {
  /** Names of the models an endpoint serves. */
  models(question: EndpointQuestion, ask: boolean): readonly string[] | undefined;
  /** What a server's `tools/list` says; `folder` is that of the file that names it. */
  mcpTools(question: McpQuestion, folder: string, ask: boolean): readonly KnownTool[] | undefined;
  /** What the tools of a built-in set say of themselves. */
  builtinTools(set: string): readonly KnownTool[] | undefined;
  /** Variables that have a value: in the environment, or kept by the editor. */
  envNames(): readonly string[];
  /** How many tokens a text has by the tokenizer of a model. */
  tokens(question: EndpointQuestion, model: string, text: string): number | undefined;
}

export const NO_FACTS: Facts = {
  models: () => undefined,
  mcpTools: () => undefined,
  builtinTools: () => undefined,
  envNames: () => [],
  tokens: () => undefined,
};
