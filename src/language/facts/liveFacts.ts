/**
 * Queries endpoints and MCP servers in the background, as far as the user allows, and caches the results.
 */
import { Emitter } from '../../common/emitter.ts';
import { canonicalJson } from '../../common/json.ts';
import { resolveEnv } from '../../config/env.ts';
import { Tokenizers } from '../prompts/tokenize.ts';
import type { LanguageSettings } from '../settings.ts';
import type { EndpointQuestion, Facts, KnownTool, McpQuestion } from '../workspace/facts.ts';
import { RefreshingCache } from './refreshingCache.ts';
import { servedModels } from './servedModels.ts';

/** Maximum number of texts with cached token counts. */
const MAX_COUNTS = 200;

interface FactPorts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Starts or connects to a server and lists its tools. `folder` is that of the referencing file. */
  listTools(question: McpQuestion, folder: string, signal: AbortSignal): Promise<readonly KnownTool[]>;
  /** Lists the tools of a built-in set, without starting anything. */
  builtinTools(set: string): Promise<readonly KnownTool[]>;
}

type LiveFactsSettings = Pick<LanguageSettings, 'trusted' | 'askEndpoints' | 'keptNames'>;

export class LiveFacts implements Facts {
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  /** Fires when the tokens of a text were counted. */
  readonly #counted = new Emitter<undefined>();
  readonly counted = this.#counted.event;
  readonly #counts = new Map<string, number>();
  readonly #tokenizers = new Tokenizers();
  readonly #ports: FactPorts;
  readonly #env: Readonly<Record<string, string>>;
  readonly #models: RefreshingCache<readonly string[]>;
  readonly #tools: RefreshingCache<readonly KnownTool[]>;
  #allowed: LiveFactsSettings = { trusted: false, askEndpoints: false, keptNames: [] };

  constructor(ports: FactPorts) {
    this.#ports = ports;
    this.#env = Object.fromEntries(
      Object.entries(ports.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const changed = (): void => this.#changed.fire(undefined);
    this.#models = new RefreshingCache({ atOnce: 4, changed });
    // Listing may start the server's program.
    this.#tools = new RefreshingCache({ atOnce: 1, changed });
  }

  allow(settings: LiveFactsSettings): void {
    this.#allowed = settings;
  }

  models(question: EndpointQuestion, ask: boolean): readonly string[] | undefined {
    if (!this.#allowed.trusted || !this.#allowed.askEndpoints) return undefined;
    return this.#models.look(
      canonicalJson(question),
      !ask ? undefined : (signal) => servedModels(resolveEnv(question, this.#env), signal),
    );
  }

  mcpTools(question: McpQuestion, folder: string, ask: boolean): readonly KnownTool[] | undefined {
    if (!this.#allowed.trusted) return undefined;
    return this.#tools.look(
      canonicalJson([question, folder]),
      !ask ? undefined : (signal) => this.#ports.listTools(resolveEnv(question, this.#env), folder, signal),
    );
  }

  builtinTools(set: string): readonly KnownTool[] | undefined {
    return this.#tools.look(`builtin ${set}`, () => this.#ports.builtinTools(set));
  }

  tokens(question: EndpointQuestion, model: string, text: string): number | undefined {
    if (!this.#allowed.trusted || !this.#allowed.askEndpoints) return undefined;
    const key = canonicalJson([question, model, text]);
    if (this.#counts.has(key)) return this.#counts.get(key);
    this.#count(key, question, model, text).catch(() => undefined); // a variable is not set; use the estimate
    return undefined;
  }

  async #count(key: string, question: EndpointQuestion, model: string, text: string): Promise<void> {
    const { endpoint, apiKey, headers = {} } = resolveEnv(question, this.#env);
    const count = await this.#tokenizers.count({ endpoint, model, apiKey, headers }, text);
    if (count === undefined) return;
    this.#counts.set(key, count);
    for (const oldest of this.#counts.keys()) if (this.#counts.size > MAX_COUNTS) this.#counts.delete(oldest);
    this.#counted.fire(undefined);
  }

  envNames(): readonly string[] {
    return this.#allowed.trusted ? [...new Set([...Object.keys(this.#env), ...this.#allowed.keptNames])].sort() : [];
  }

  dispose(): void {
    this.#models.dispose();
    this.#tools.dispose();
  }
}
