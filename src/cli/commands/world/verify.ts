import path from 'node:path';
import { EditedVerifiers, verifierFileAt } from '../../../client/published/editedVerifiers.ts';
import { judgedRollouts, scenariosOfBatches } from '../../../client/published/judgedRollouts.ts';
import { batchId, parseReference, resolveRollout } from '../../../client/reference.ts';
import { filesAt } from '../../../client/submitFile.ts';
import { flipsText, pairText } from '../../../client/text/verifiedText.ts';
import { workspaceRoot } from '../../../client/workspace.ts';
import { StudioError } from '../../../common/errors.ts';
import { fileKind } from '../../../common/fileKinds.ts';
import type { LoadedCodeWorld, LoadedWorld } from '../../../config/load/world.ts';
import { loadWorld } from '../../../config/load.ts';
import { problemsError } from '../../../config/source/problem.ts';
import { moduleOf, submittedCodeWorld } from '../../../config/submit/sections.ts';
import type { Api } from '../../../protocol/api.ts';
import type { Verified, VerifyOptions } from '../../../rerun/verify.ts';
import { ratedPairs } from '../../../trace/agreement/pairs.ts';
import type { RolloutRow } from '../../../trace/summary.ts';
import { WORLD_OUTCOME_NAMES } from '../../../trace/worldOutcomes.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

/** What `--with` names. */
interface Verifiers extends Pick<VerifyOptions, 'module'> {
  /** Reads the verifiers of published scenarios that have one of these names. */
  readonly read?: (scenarios: ReadonlySet<string>) => Promise<EditedVerifiers>;
}

/**
 * `rollout world verify`: runs verifiers on stored final states, and prints what they would flip. Without rollouts: on
 * the newest ones that the edited verifiers judge.
 */
export async function verify(context: Context, words: readonly string[], commandLine: CommandLine): Promise<Outcome> {
  const references = words.map(parseReference); // fail early, before a server starts
  const file = textOption(commandLine, 'with');
  const { module, read }: Verifiers =
    file === undefined ? {} : await verifiersOf(context, path.resolve(context.cwd, file));
  if (references.length === 0 && read === undefined)
    throw new StudioError('usage', 'Name the rollouts, or a batch, whose final states are verified.', {
      hint: 'Only verifiers of published worlds find their rollouts themselves: --with FILE.',
    });
  const { api } = await context.connect();
  const { signal } = context;
  const named = (await Promise.all(references.map((reference) => rolloutsOf(context, api, reference)))).flat();
  const batches = references.length === 0 ? undefined : new Set(named.map(({ batch }) => batch));
  const edited = await read?.(await scenariosOfBatches(api, batches, signal));
  const rollouts =
    references.length === 0 && edited !== undefined
      ? await judgedRollouts(api, edited, signal)
      : named.map(({ rollout }) => rollout);
  const { verifyRollouts } = await import('../../../rerun/verify.ts');
  const verified: Verified[] = [];
  const report = (result: Verified): void => {
    verified.push(result);
    if (context.json) context.log(`${verified.length} of ${rollouts.length}`);
    else context.print(lineOf(result));
  };
  await verifyRollouts(api, rollouts, { module, edited, folder: context.cwd }, report, signal);
  if (references.length > 0 && verified.length === 0 && rollouts.length > 0)
    throw new StudioError('usage', 'The verifier judges none of these rollouts: it belongs to another task.', {
      hint: 'Leave out the rollouts to verify those that it judges.',
    });
  const agreement = ratedPairs(verified.map(({ ratings }) => ratings));
  const flipped = verified.filter(({ flips }) => flips);
  if (context.json) context.printJson({ rollouts: verified, flipped: flipped.length, agreement });
  else {
    const passes = flipped.filter(({ now }) => now?.passed === true).length;
    const errors = verified.filter(({ error }) => error !== undefined).length;
    const fails = flipped.length - passes;
    context.print(`${flipsText({ verdicts: verified.length, passes, fails, errors })}.`);
    for (const pair of agreement) context.print(pairText(pair));
  }
  return 0;
}

/** Reads the verifiers of `--with`: a module, a Python file of an extracted scenario, or those of a world file. */
async function verifiersOf(context: Context, absolute: string): Promise<Verifiers> {
  const { cwd, signal } = context;
  const verifier = verifierFileAt(absolute);
  if (verifier !== undefined) {
    const edited = await EditedVerifiers.ofFile(verifier, signal);
    return { read: () => Promise.resolve(edited) };
  }
  const world = fileKind(absolute) === 'world' ? await readWorld(context, absolute) : undefined;
  if (world?.kind === 'code') return { read: (scenarios) => editedWorld(context, world, scenarios) };
  if (world?.kind === 'simulated' || world?.kind === 'recorded')
    throw new StudioError('usage', `${world.file.name} is ${world.kind} and has no verifier.`, {
      hint: 'Use rollout rescore with another scorer.',
    });
  const module = world === undefined ? absolute : moduleOf(world);
  const { bundleModule } = await import('../../../tools/bundle.ts');
  return { module: await bundleModule(module, workspaceRoot(module, cwd)) };
}

async function readWorld(context: Context, file: string): Promise<LoadedWorld> {
  const files = filesAt(context);
  const { value, problems } = await loadWorld(files, file);
  if (value === undefined) throw problemsError(problems, files.absolute(context.cwd));
  return value;
}

function editedWorld(
  context: Context,
  world: LoadedCodeWorld,
  scenarios: ReadonlySet<string>,
): Promise<EditedVerifiers> {
  const root = workspaceRoot(world.path, context.cwd);
  const settings = submittedCodeWorld(world, {}, root, filesAt(context));
  return EditedVerifiers.ofWorld(world.scenarios, scenarios, settings, context.signal);
}

/** Returns the rollout of a reference, or all of a batch that settled their attempts. */
async function rolloutsOf(
  context: Context,
  api: Api,
  reference: ReturnType<typeof parseReference>,
): Promise<Pick<RolloutRow, 'batch' | 'rollout'>[]> {
  if (reference.kind !== 'batch') {
    const rollout = await resolveRollout(api, reference, context.signal);
    return [(await api.rollout(rollout, context.signal)).row];
  }
  const batch = await batchId(api, reference.batch, context.signal);
  const rows = await Array.fromAsync(api.allRollouts(batch, { all: 1 }, context.signal));
  return rows.filter(({ settles }) => settles);
}

function lineOf({ task, attempt, stored, now, error, place, flips, checks }: Verified): string {
  const verdict = (of: Verified['stored']): string => {
    const said = of?.passed === true ? 'passed' : of?.passed === false ? 'failed' : 'unscored';
    return of?.outcome === undefined ? said : `${said} (${WORLD_OUTCOME_NAMES[of.outcome]})`;
  };
  const where = place === undefined ? '' : `${place.file}:${place.line}:${place.column}: `;
  const after = error === undefined ? verdict(now) : `no verdict: ${where}${error}`;
  const lines = [`${task}/${attempt}  ${verdict(stored)} → ${after}${flips ? '  flips' : ''}`];
  const mark = (passed: boolean | undefined): string => (passed === undefined ? '–' : passed ? '✓' : '✗');
  for (const check of checks) lines.push(`  ${check.name}: ${mark(check.stored)} → ${mark(check.now)}`);
  return lines.join('\n');
}
