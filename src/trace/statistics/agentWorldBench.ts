/** Published results of AgentWorldBench, to show next to those of a batch. */

/** Its domains, which are the levels of its tasks, with their names. */
export const BENCH_DOMAINS = {
  mcp: 'MCP',
  search: 'Search',
  terminal: 'Terminal',
  swe: 'SWE',
  android: 'Android',
  web: 'Web',
  os: 'OS',
} as const;
export type BenchDomain = keyof typeof BENCH_DOMAINS;
export const BENCH_NAMES = Object.keys(BENCH_DOMAINS) as readonly BenchDomain[]; // the keys are those above

const BENCH_JUDGE = 'gpt-5.2-2025-12-11';
export const BENCH_SOURCE = 'github.com/QwenLM/Qwen-AgentWorld, July 2026';
export const BENCH_CAUTION = `The published judge is ${BENCH_JUDGE}; its prompts differ. Compare only under one judge.`;

interface PublishedScores {
  readonly model: string;
  /** From 0 to 100. */
  readonly scores: Readonly<Record<BenchDomain, number>>;
  /** Mean of the domains. */
  readonly macro: number;
}

const published = (model: string, ...scores: readonly number[]): PublishedScores => ({
  model,
  scores: Object.fromEntries(BENCH_NAMES.map((domain, index) => [domain, scores[index] ?? 0])) as Record<
    BenchDomain,
    number
  >, // its keys are the domains
  macro: scores[BENCH_NAMES.length] ?? 0,
});

export const PUBLISHED_SCORES: readonly PublishedScores[] = [
  published('Qwen-AgentWorld-397B-A17B', 68.24, 37.82, 57.73, 68.49, 60.2, 50.98, 67.89, 58.71),
  published('GPT-5.4', 70.1, 37.26, 53.69, 66.29, 60, 51.8, 68.58, 58.25),
  published('Claude Opus 4.6', 69.9, 29.3, 57.51, 64.55, 61.74, 51.42, 70.2, 57.8),
  published('Qwen-AgentWorld-35B-A3B', 64.79, 36.69, 53.96, 65.63, 58.17, 49.55, 65.92, 56.39),
  published('Qwen3.5-35B-A3B', 57.87, 25.98, 46.13, 47.58, 53.18, 47.1, 56.27, 47.73),
];
