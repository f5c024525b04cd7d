/** The parts of a batch's submission that pages show. Imported batches have none. */
import { z } from 'zod';
import { StudioError } from '../../src/common/errors.ts';
import type { ReportInput } from '../../src/trace/statistics.ts';
import type { Blobs } from './blobs.ts';

const submission = z.object({
  name: z.string(),
  agent: z.object({
    name: z.string(),
    file: z.string(),
    model: z.object({ name: z.string(), endpoint: z.string().optional() }),
  }),
  git: z.object({ commit: z.string(), dirty: z.boolean() }).optional(),
  stop: z.object({ passes_per_task: z.number().optional(), tokens: z.number().optional() }).optional(),
  pods: z.object({ isolation: z.string().optional() }).optional(),
  scorer: z
    .object({ kind: z.string(), subject: z.string().optional(), model: z.object({ name: z.string() }).optional() })
    .optional(),
  world: z
    .object({ kind: z.string().optional(), perturb: z.array(z.object({ name: z.string() })).optional() })
    .optional(),
  no_perturb: z.boolean().optional(),
});

export interface Definition {
  readonly agent: string;
  readonly agentFile: string;
  readonly model: string;
  /** The model's endpoint. */
  readonly endpoint: string | undefined;
  /** First digits of the git commit (with `+` if files differed from it), or of the submission's hash. */
  readonly revision: string;
  readonly passesPerTask: number | undefined;
  /** The batch stops after this many tokens. */
  readonly tokenLimit: number | undefined;
  /** Whether each attempt has its own pod. */
  readonly podEach: boolean;
  /** The model that marks predicted observations; undefined without such a judge. */
  readonly judge: string | undefined;
  /** Whether it compares a world with recordings. */
  readonly fidelity: boolean;
  /** The rules of its world, and whether they apply; undefined without rules. */
  readonly perturb: ReportInput['perturb'];
}

/** Returns undefined if there is no submission, or an unreadable one. */
export async function readDefinition(blobs: Blobs, sha: string): Promise<Definition | undefined> {
  let raw: unknown;
  try {
    raw = await blobs.json({ $blob: sha, bytes: 0 });
  } catch (error) {
    if (StudioError.is(error, 'not_found') || error instanceof SyntaxError) return undefined;
    throw error;
  }
  const parsed = submission.safeParse(raw);
  if (!parsed.success) return undefined;
  const { agent, git, stop, pods, scorer, world, no_perturb: none } = parsed.data;
  const rules = (world?.perturb ?? []).map(({ name }) => name);
  return {
    agent: agent.name,
    agentFile: agent.file,
    model: agent.model.name,
    endpoint: agent.model.endpoint,
    revision: git === undefined ? sha.slice(0, 4) : `${git.commit.slice(0, 4)}${git.dirty ? '+' : ''}`,
    passesPerTask: stop?.passes_per_task,
    tokenLimit: stop?.tokens,
    podEach: pods?.isolation === 'pod',
    judge: scorer?.kind === 'judge' && scorer.subject === 'observation' ? scorer.model?.name : undefined,
    fidelity: world?.kind === 'replay',
    perturb: rules.length === 0 ? undefined : { rules, on: none !== true },
  };
}
