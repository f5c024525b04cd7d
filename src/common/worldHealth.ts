/** What the lint of worlds finds: for commands, the language server, and pages. */
import { z } from 'zod';

/** Parts of the lint, in the order in which they run. Each but the first needs the one before it. */
export const LINT_PARTS = ['static', 'started', 'verifier', 'strength'] as const;
export type LintPart = (typeof LINT_PARTS)[number];

/** Every kind of finding, and the part that finds it. */
export const FINDING_KINDS = {
  /** A row of the published files, or a whole file, cannot be read. */
  unreadable: 'static',
  /** The files have no code, schema, tools, or tasks for the scenario. */
  missing_part: 'static',
  /** Two rows, tasks, tables, tools, or records are the same. */
  duplicate: 'static',
  /** Code or a verifier is not Python, or lacks the function that it is called by. */
  syntax: 'static',
  /** A statement that creates a table or an index fails. */
  ddl_fails: 'static',
  /** A statement that inserts a row fails. */
  insert_fails: 'static',
  /** A foreign key refers to a row, a column, or a table that does not exist. */
  foreign_key: 'static',
  /** The specification describes an endpoint that is no tool. */
  endpoint_without_tool: 'static',
  /** Two handlers for one method and path: the description is the later one, and calls run the earlier one. */
  duplicate_route: 'static',
  /** An optional parameter whose declared type refuses null. */
  optional_null: 'static',
  /** A task or verifier names a table, column, tool, or row that does not exist. */
  unknown_name: 'static',
  /** Nothing judges a task. */
  no_verifier: 'static',
  /** The code needs a Python package that is not installed. */
  missing_package: 'started',
  /** The code cannot be loaded, or has no tools. */
  load_fails: 'started',
  /** A tool that only reads fails. */
  read_fails: 'started',
  /** A verifier throws, or returns no verdict. */
  verifier_fails: 'verifier',
  /** A verifier says complete before anything was done. */
  complete_at_start: 'verifier',
  /** A verifier waits for something that no tool writes. */
  unreachable: 'verifier',
  /** A verifier loops, allocates without end, exits, or prints. */
  verifier_time: 'verifier',
  verifier_memory: 'verifier',
  verifier_exits: 'verifier',
  verifier_prints: 'verifier',
  /** A verifier rejects a rollout that passed, or a reference solution, or the latter cannot be repeated. */
  solution_rejected: 'strength',
  /** A verifier accepts final states that are wrong. */
  weak_verifier: 'strength',
} as const satisfies Readonly<Record<string, LintPart>>;
export type FindingKind = keyof typeof FINDING_KINDS;

const count = z.int().min(0);
const at = z.int().min(1);

/** Where something is in the published files. Lines and columns count from 1, columns in UTF-16 units. */
const findingPlace = z.object({
  /** Relative to the folder with the published files, with `/`. */
  file: z.string(),
  line: at,
  column: at,
});
export type FindingPlace = z.infer<typeof findingPlace>;

/** Where it is in a part of the scenario, as `rollout world show --part` prints it. */
const findingSource = z.object({
  /** `code`, `codeVerifier`, … */
  part: z.string(),
  /** Index of the task, for verifiers. */
  task: count.optional(),
  line: at,
  column: at,
});

export const finding = z.object({
  kind: z.enum(Object.keys(FINDING_KINDS) as [FindingKind, ...FindingKind[]]),
  /** An error makes rollouts of the scenario useless; a warning makes some of its tasks or tools doubtful. */
  severity: z.enum(['error', 'warning']),
  /** What is wrong, as a sentence. */
  message: z.string(),
  /** What to do, as a sentence. */
  hint: z.string(),
  place: findingPlace,
  source: findingSource.optional(),
  /** Start of the statement or line in question. */
  excerpt: z.string().optional(),
  table: z.string().optional(),
  tool: z.string().optional(),
  /** Index of the task, from 0. */
  task: count.optional(),
});
export type Finding = z.infer<typeof finding>;

/** How well a verifier tells a passing final state from ones that are wrong. */
const strength = z.object({
  task: count,
  verifier: z.enum(['code', 'sql']),
  /** Where the passing state is from: ID of a rollout, or file of a reference solution in the workspace. */
  from: z.string(),
  mutants: count,
  rejected: count,
  /** What the mutants were that it accepted, as phrases: `plots 3 as before`. */
  accepted: z.array(z.string()),
});
export type VerifierStrength = z.infer<typeof strength>;

/** A verifier that rejects fewer of the mutants is weak. */
const WEAK_SHARE = 0.5;

/** Returns whether a verifier accepts most final states that are wrong. */
export function isWeak({ mutants, rejected }: Pick<VerifierStrength, 'mutants' | 'rejected'>): boolean {
  return mutants > 0 && rejected < mutants * WEAK_SHARE;
}

/** The health of one scenario. */
export const scenarioHealth = z.object({
  scenario: z.string(),
  /** Parts that ran. */
  ran: z.array(z.enum(LINT_PARTS)),
  /** Why the others did not run, as a sentence. */
  stopped: z.string().optional(),
  /** Errors first, then in the order of the parts and files. */
  findings: z.array(finding),
  /** Tools that never write. Absent: unknown. */
  pure: z.array(z.string()).optional(),
  /** Of each verifier for whose task a passing state is known. */
  strength: z.array(strength),
});
export type ScenarioHealth = z.infer<typeof scenarioHealth>;

/** What `rollout world lint --json` prints. */
export const worldHealth = z.object({
  /** The folder with the published files. */
  folder: z.string(),
  scenarios: z.array(scenarioHealth),
  /** What is wrong with files or lines that belong to no scenario, as `file:line: message`. */
  problems: z.array(z.string()),
});
export type WorldHealth = z.infer<typeof worldHealth>;

/** Returns whether rollouts of the scenario would be useless. */
export function isBroken({ findings }: Pick<ScenarioHealth, 'findings'>): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

/**
 * Renders a finding as `file:line:column: message (part, line 3) — hint`. `file`: how the file is named; by default,
 * relative to the folder.
 */
export function findingText({ place, source, severity, message, hint }: Finding, file = place.file): string {
  const kind = severity === 'warning' ? 'warning: ' : '';
  const within = source === undefined || !isPython(source.part) ? '' : ` (${source.part}, line ${source.line})`;
  return `${file}:${place.line}:${place.column}: ${kind}${message}${within} — ${hint}`;
}

/** Whether a part of a scenario is a Python file. */
function isPython(part: string): boolean {
  return /^(code|codeVerifier|sqlVerifier)$/.test(part);
}
