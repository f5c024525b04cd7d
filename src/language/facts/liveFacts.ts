/**
 * Queries endpoints and MCP servers in the background, as far as the user allows, and caches the results.
 */
import { Emitter } from '../../common/emitter.ts';
import { canonicalJson } from '../../common/json.ts';
import { redactor } from '../../common/redaction/redactor.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { envNamesIn, resolveEnv } from '../../config/env.ts';
import type { QueryPlace } from '../../config/queryPlaces.ts';
import type { Problem } from '../../config/source/problem.ts';
import type { outboundRequest } from '../../net/outboundRequest.ts';
import { Tokenizers } from '../prompts/tokenize.ts';
import type { LanguageSettings } from '../settings.ts';
import type { EndpointRef, Facts, McpServerRef, TargetQueues, ToolInfo } from '../workspace/facts.ts';
import { endpointPlace, serverPlace } from './queryPlace.ts';
import { RefreshingCache } from './refreshingCache.ts';
import { servedModels } from './servedModels.ts';

/** Maximum number of texts with cached token counts. */
const MAX_COUNTS = 200;

interface FactPorts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sends a request to an endpoint. */
  readonly request: typeof outboundRequest;
  /** Starts or connects to a server and lists its tools. `folder` is that of the referencing file. */
  listTools(ref: McpServerRef, folder: string, signal: AbortSignal): Promise<readonly ToolInfo[]>;
  /** Lists the tools of a built-in set, without starting anything. */
  builtinTools(set: string): Promise<readonly ToolInfo[]>;
  /** Lints the scenario that a world file names, without running any of its code. */
  worldProblems(file: string, signal: AbortSignal): Promise<readonly Problem[]>;
}

type LiveFactsSettings = Pick<LanguageSettings, 'trusted' | 'askEndpoints' | 'allowedPlaces' | 'keptNames'> &
  Partial<Pick<LanguageSettings, 'target' | 'queues'>>;

export class LiveFacts implements Facts {
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  /** Fires when the tokens of a text were counted. */
  readonly #tokensCounted = new Emitter<undefined>();
  readonly tokensCounted = this.#tokensCounted.event;
  /** Fires once for each place that a saved file names, allowed or not. */
  readonly #placeNamed = new Emitter<QueryPlace>();
  readonly placeNamed = this.#placeNamed.event;
  readonly #named = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #tokenizers: Tokenizers;
  readonly #ports: FactPorts;
  readonly #env: Readonly<Record<string, string>>;
  readonly #models: RefreshingCache<readonly string[]>;
  readonly #tools: RefreshingCache<readonly ToolInfo[]>;
  readonly #worlds: RefreshingCache<readonly Problem[]>;
  #settings: LiveFactsSettings = { trusted: false, askEndpoints: false, allowedPlaces: [], keptNames: [] };

  constructor(ports: FactPorts) {
    this.#ports = ports;
    this.#tokenizers = new Tokenizers(ports.request);
    this.#env = Object.fromEntries(
      Object.entries(ports.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const changed = (): void => this.#changed.fire(undefined);
    this.#models = new RefreshingCache({ concurrency: 4, changed });
    // Listing may start the server's program.
    this.#tools = new RefreshingCache({ concurrency: 1, changed });
    this.#worlds = new RefreshingCache({ concurrency: 1, changed });
  }

  configure(settings: LiveFactsSettings): void {
    this.#settings = settings;
  }

  models(ref: EndpointRef, allowQuery: boolean): readonly string[] | undefined {
    if (!this.#settings.trusted || !this.#settings.askEndpoints) return undefined;
    const isAllowed = this.#isAllowed(endpointPlace(ref), allowQuery);
    return this.#models.entry(
      canonicalJson(ref),
      !allowQuery || !isAllowed
        ? undefined
        : async (signal) =>
            this.#clean(ref, await servedModels(resolveEnv(ref, this.#env), this.#ports.request, signal)),
    );
  }

  mcpTools(ref: McpServerRef, folder: string, allowQuery: boolean): readonly ToolInfo[] | undefined {
    if (!this.#settings.trusted) return undefined;
    const isAllowed = this.#isAllowed(serverPlace(ref, folder), allowQuery);
    return this.#tools.entry(
      canonicalJson([ref, folder]),
      !allowQuery || !isAllowed
        ? undefined
        : async (signal) => this.#clean(ref, await this.#ports.listTools(resolveEnv(ref, this.#env), folder, signal)),
    );
  }

  builtinTools(set: string): readonly ToolInfo[] | undefined {
    return this.#tools.entry(`builtin ${set}`, () => this.#ports.builtinTools(set));
  }

  worldProblems(file: string, stamp: string): readonly Problem[] | undefined {
    if (!this.#settings.trusted) return undefined;
    return this.#worlds.entry(canonicalJson([file, stamp]), (signal) => this.#ports.worldProblems(file, signal));
  }

  tokens(ref: EndpointRef, model: string, text: string): number | undefined {
    if (!this.#settings.trusted || !this.#settings.askEndpoints) return undefined;
    if (!this.#isAllowed(endpointPlace(ref), false)) return undefined;
    const key = canonicalJson([ref, model, text]);
    if (this.#counts.has(key)) return this.#counts.get(key);
    this.#count(key, ref, model, text).catch(() => undefined); // a variable is not set; use the estimate
    return undefined;
  }

  /**
   * Returns whether a place may be queried. Variables are inserted only into keys, headers, and the environment of
   * commands: a place whose URL or command depends on them is undefined.
   */
  #isAllowed(place: QueryPlace | undefined, isSaved: boolean): boolean {
    if (place === undefined) return false;
    if (isSaved && !this.#named.has(place.id)) {
      this.#named.add(place.id);
      this.#placeNamed.fire(place);
    }
    const { allowedPlaces } = this.#settings;
    return allowedPlaces === 'all' || allowedPlaces.includes(place.id);
  }

  /** Returns a response without the values that were sent: diagnostics and completions show it. */
  #clean<T>(ref: EndpointRef | McpServerRef, response: T): T {
    return redactor(envNamesIn(JSON.stringify(ref)).map((name) => this.#env[name] ?? '')).json(response);
  }

  async #count(key: string, ref: EndpointRef, model: string, text: string): Promise<void> {
    const { endpoint, apiKey, headers = {} } = resolveEnv(ref, this.#env);
    const count = await this.#tokenizers.count({ endpoint, model, apiKey, headers }, text);
    if (count === undefined) return;
    this.#counts.set(key, count);
    for (const oldest of this.#counts.keys()) if (this.#counts.size > MAX_COUNTS) this.#counts.delete(oldest);
    this.#tokensCounted.fire(undefined);
  }

  envNames(): readonly string[] {
    return this.#settings.trusted ? [...new Set([...Object.keys(this.#env), ...this.#settings.keptNames])].sort() : [];
  }

  queues(named: string | undefined): TargetQueues | undefined {
    const { target: inUse = DEFAULTS.target, queues: seen = {} } = this.#settings;
    const target = named ?? inUse;
    const queues = Object.hasOwn(seen, target) ? seen[target] : undefined;
    return queues === undefined ? undefined : { target, queues };
  }

  dispose(): void {
    this.#models.dispose();
    this.#tools.dispose();
    this.#worlds.dispose();
  }
}
