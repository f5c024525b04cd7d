import path from 'node:path';
import { batchId, parseReference, resolveRollout } from '../../../client/reference.ts';
import { filesAt } from '../../../client/submitFile.ts';
import { workspaceRoot } from '../../../client/workspace.ts';
import { StudioError } from '../../../common/errors.ts';
import { fileKind } from '../../../common/fileKinds.ts';
import { plural } from '../../../common/text.ts';
import { loadWorld } from '../../../config/load.ts';
import { problemsError } from '../../../config/source/problem.ts';
import type { Bundle } from '../../../config/submit/blobs.ts';
import { moduleOf } from '../../../config/submit/sections.ts';
import type { Api } from '../../../protocol/api.ts';
import type { Verified } from '../../../rerun/verify.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

/** `rollout world verify`: runs verifiers on stored final states, and prints what they would flip. */
export async function verify(context: Context, words: readonly string[], commandLine: CommandLine): Promise<Outcome> {
  for (const word of words) parseReference(word); // fail early, before a server starts
  const module = await bundleOf(context, textOption(commandLine, 'with'));
  const { api } = await context.connect();
  const rollouts = (await Promise.all(words.map((word) => rolloutsOf(context, api, word)))).flat();
  const { verifyRollout } = await import('../../../rerun/verify.ts');
  const verified: Verified[] = [];
  for (const rollout of rollouts) {
    const result = await verifyRollout(api, rollout, { module, folder: context.cwd }, context.signal);
    verified.push(result);
    if (!context.json) context.print(lineOf(result));
  }
  const flipped = verified.filter(({ flips }) => flips).length;
  if (context.json) context.printJson({ rollouts: verified, flipped });
  else context.print(`${flipped} of ${plural(verified.length, 'verdict')} would flip.`);
  return 0;
}

/** Bundles the module of `--with`: the file itself, or the module of a world file. */
async function bundleOf(context: Context, file: string | undefined): Promise<Bundle | undefined> {
  if (file === undefined) return undefined;
  const { bundleModule } = await import('../../../tools/bundle.ts');
  const absolute = path.resolve(context.cwd, file);
  if (fileKind(absolute) !== 'world') return bundleModule(absolute, workspaceRoot(absolute, context.cwd));
  const files = filesAt(context);
  const { value, problems } = await loadWorld(files, absolute);
  if (value === undefined) throw problemsError(problems, files.absolute(context.cwd));
  if (value.kind !== 'module')
    throw new StudioError(
      'unsupported',
      `${file} has no module, so it has no verifier that could replace another one.`,
      {
        hint: 'Use the TypeScript module with the verifier.',
      },
    );
  const module = moduleOf(value);
  return bundleModule(module, workspaceRoot(module, context.cwd));
}

/** Returns the rollout of a reference, or all of a batch that settled their attempts. */
async function rolloutsOf(context: Context, api: Api, word: string): Promise<string[]> {
  const reference = parseReference(word);
  if (reference.kind !== 'batch') return [await resolveRollout(api, reference, context.signal)];
  const batch = await batchId(api, reference.batch, context.signal);
  const rows = await Array.fromAsync(api.allRollouts(batch, { all: 1 }, context.signal));
  return rows.filter(({ settles }) => settles).map(({ rollout }) => rollout);
}

function lineOf({ task, attempt, stored, now, error, flips, checks }: Verified): string {
  const verdict = (passed: boolean | null | undefined): string =>
    passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
  const after = error === undefined ? verdict(now?.passed) : `no verdict: ${error}`;
  const lines = [`${task}/${attempt}  ${verdict(stored?.passed)} → ${after}${flips ? '  flips' : ''}`];
  const mark = (passed: boolean | undefined): string => (passed === undefined ? '–' : passed ? '✓' : '✗');
  for (const check of checks) lines.push(`  ${check.name}: ${mark(check.stored)} → ${mark(check.now)}`);
  return lines.join('\n');
}
