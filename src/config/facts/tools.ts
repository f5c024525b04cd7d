/** The tools of a search world with facts, as agents get them. */
import type { FactsSection } from '../schema/factsSection.ts';
import type { ToolDefinition } from '../submission/world.ts';

export const FACT_TOOLS = ['web_search', 'web_extractor', 'dict_memory'] as const;
export type FactTool = (typeof FACT_TOOLS)[number];

export const MEMORY_OPERATIONS = ['add', 'update', 'retrieve', 'retrieve_all', 'remove', 'remove_all'] as const;

/** Most queries of one search. */
export const MAX_QUERIES = 10;

const OWN: readonly ToolDefinition[] = [
  {
    name: 'web_search',
    description: 'Searches the web. Returns up to ten results for each query, with address, title, snippet, and date.',
    parameters: {
      type: 'object',
      properties: {
        queries: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_QUERIES },
      },
      required: ['queries'],
    },
  },
  {
    name: 'web_extractor',
    description: 'Returns the page at an address.',
    parameters: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
  },
  {
    name: 'dict_memory',
    description: 'Keeps notes by key: adds, updates, retrieves, and removes them.',
    parameters: {
      type: 'object',
      properties: {
        operation: { type: 'string', enum: [...MEMORY_OPERATIONS] },
        key: { type: 'string', description: 'Not for retrieve_all and remove_all.' },
        value: { type: 'string', description: 'For add and update.' },
      },
      required: ['operation'],
    },
  },
];

/** Returns all tools of a world: those of its file as they are, and with facts the three that it does not define. */
export function withFactTools(facts: FactsSection | undefined, written: readonly ToolDefinition[]): ToolDefinition[] {
  if (facts === undefined) return [...written];
  return [...OWN.filter(({ name }) => written.every((own) => own.name !== name)), ...written];
}

/** Returns the name of a tool that code answers. */
export function factTool(name: string): FactTool | undefined {
  return FACT_TOOLS.find((own) => own === name);
}
