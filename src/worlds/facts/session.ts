/**
 * A search world with facts. Code answers searches from rows and keeps the memory of the agents; the model writes the
 * pages around the facts of a row, and each page is checked against it. Like that of every simulated world, its state
 * is what the agents saw.
 */
import type { Json, JsonObject } from '../../common/json.ts';
import { Answers } from '../../config/facts/answers.ts';
import { type FactPage, factPages } from '../../config/facts/pages.ts';
import { factTool, MAX_QUERIES } from '../../config/facts/tools.ts';
import type { SubmittedSimulatedWorld } from '../../config/submission/world.ts';
import type {
  Observed,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolSpec,
  World,
  WorldSession,
} from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { ParsedBlobs } from '../parsedBlobs.ts';
import { filled, SimulatedSession } from '../simulated/open.ts';
import type { SimulationTexts } from '../simulated/prompt.ts';
import { Memory } from './memory.ts';
import { pageProblems } from './pageCheck.ts';
import { factsText, plainPage } from './pageText.ts';
import { plainLine, SearchIndex } from './searchIndex.ts';

const RESULTS = 10;

interface FactsEnvironment extends Pick<ToolEnvironment, 'readBlob'> {
  readonly pools: Pick<ToolEnvironment['pools'], 'only'>;
}

/** `facts`: the blob with its pages. */
export function factsWorld(submitted: SubmittedSimulatedWorld, facts: string, environment: FactsEnvironment): World {
  return {
    name: submitted.name,
    kind: submitted.kind,
    open: async ({ task }) => {
      const read = await environment.pools.only(FactsCache).get(facts, environment);
      return new FactsSession(submitted, filled(submitted, task), read);
    },
  };
}

/** The pages of a world, which all sessions of a worker share. */
class Facts {
  readonly answers: Answers;
  readonly index: SearchIndex;
  readonly byUrl: ReadonlyMap<string, FactPage>;

  constructor(pages: readonly FactPage[]) {
    this.answers = new Answers(pages);
    this.index = new SearchIndex(pages, this.answers);
    this.byUrl = new Map(pages.map((page) => [page.url, page]));
  }
}

class FactsCache extends ParsedBlobs<Facts> {
  protected override parse(bytes: Uint8Array): Facts {
    return new Facts(factPages.parse(JSON.parse(new TextDecoder().decode(bytes))).pages);
  }
}

class FactsSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  readonly prompt: string;
  readonly #model: SimulatedSession;
  readonly #facts: Facts;
  readonly #memory = new Memory();

  constructor(world: SubmittedSimulatedWorld, texts: SimulationTexts, facts: Facts) {
    this.#facts = facts;
    this.#model = new SimulatedSession(world, texts, (call) => {
      const page = this.#pageOf(call);
      return page === undefined ? undefined : factsText(page);
    });
    this.prompt = this.#model.prompt;
    this.specs = this.#model.specs.map((spec) =>
      spec.name === 'web_search' || spec.name === 'web_extractor' ? { ...spec, effect: 'pure' } : spec,
    );
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    switch (factTool(call.name)) {
      case 'web_search':
        return { response: this.#search(call.arguments), source: 'facts' };
      case 'web_extractor':
        return await this.#page(call, context);
      case 'dict_memory':
        return { response: this.#memory.answer(call.arguments), source: 'facts' };
      case undefined:
        return await this.#model.call(call, context);
    }
  }

  observed(call: ToolCall, response: Json, how: Observed): void {
    if (factTool(call.name) === 'dict_memory' && how.made) this.#memory.observed(call.arguments, response);
    this.#model.observed(call, response, how);
  }

  close(): Promise<void> {
    return this.#model.close();
  }

  #search(args: JsonObject): string {
    const queries = textsIn(args, ['queries', 'query']).filter((query) => query.trim() !== '');
    if (queries.length === 0) throw new ClassedError('tool_error', 'A search needs `queries`: a list of texts.');
    if (queries.length > MAX_QUERIES)
      throw new ClassedError('tool_error', `A search has at most ${MAX_QUERIES} queries.`);
    const lists = queries.map((query) => {
      const hits = this.#facts.index.search(query, RESULTS);
      return hits.length === 0
        ? 'No results.'
        : hits.map(({ page, snippet }, at) => resultText(at + 1, page, snippet)).join('\n\n');
    });
    if (lists.length === 1) return lists[0] ?? '';
    return lists.map((list, at) => `Results for ${JSON.stringify(queries[at])}\n\n${list}`).join('\n\n');
  }

  async #page(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const page = this.#pageOf(call);
    if (page === undefined) throw new ClassedError('tool_error', 'HTTP 404: there is no page at this address.');
    const written = await this.#model.checkedCall(call, context, (text) =>
      pageProblems(page, text, this.#facts.answers, this.#facts.byUrl),
    );
    if ('outcome' in written) return written.outcome;
    context.onLog(
      'err',
      `The page that the model wrote does not agree with its row, so this one was made from the row. ` +
        `${written.problems.join('; ')}.\n`,
    );
    return { response: plainPage(page), source: 'facts' };
  }

  #pageOf({ name, arguments: args }: ToolCall): FactPage | undefined {
    if (factTool(name) !== 'web_extractor') return undefined;
    const [url = ''] = textsIn(args, ['url', 'urls']);
    const written = url.trim().replace(/#.*$/, '');
    return (
      this.#facts.byUrl.get(written) ??
      this.#facts.byUrl.get(url.trim()) ??
      this.#facts.byUrl.get(written.replace(/\/$/, ''))
    );
  }
}

function resultText(number: number, { url, title, date }: FactPage, snippet: string): string {
  return [
    `[${number}] ${plainLine(url)}`,
    `Title: ${plainLine(title)}`,
    ...(snippet === '' ? [] : [`Snippet: ${snippet}`]),
    ...(date === undefined ? [] : [`Date: ${plainLine(date)}`]),
  ].join('\n');
}

/** Returns the texts of the first argument that is there: definitions of others name it differently. */
function textsIn(args: JsonObject, names: readonly string[]): string[] {
  for (const name of names) {
    const value = args[name];
    if (typeof value === 'string') return [value];
    if (Array.isArray(value)) return value.filter((text) => typeof text === 'string');
  }
  return [];
}
