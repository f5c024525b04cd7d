import { fileKind } from '../../common/fileKinds.ts';
import { DEFAULTS } from '../defaults.ts';
import { batchFile, type ScorerSection, scorerFile } from '../schema/batchFile.ts';
import type { ParsedFile } from '../source/parse.ts';
import type { DatasetLook } from './dataset.ts';
import { checkModel, checkModels } from './model.ts';
import { checkPattern } from './pattern.ts';
import type { PromptText, Reading } from './reading.ts';
import { MODULE_ENDINGS } from './tools.ts';
import { type LoadedWorld, readWorld } from './world.ts';

/** The scorer of a file. */
export interface LoadedScorer {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly section: ScorerSection;
  /** Rubric of a judge. */
  readonly rubric?: PromptText;
  /** The world whose verifier it is, if a file names one. */
  readonly world?: LoadedWorld;
}

/**
 * Reads the scorer of a batch file, or of a file that has only a `scorer` section; that of a world file is its
 * verifier. `path`: absolute.
 */
export async function readScorer(reading: Reading, path: string): Promise<LoadedScorer | undefined> {
  if (fileKind(path) === 'world') {
    const own = await readWorld(reading, path);
    return own?.world === undefined
      ? undefined
      : { path, parsed: own.parsed, section: { kind: 'world', seconds: DEFAULTS.scorer.seconds }, world: own.world };
  }
  const parsed = await reading.parse(path);
  if (parsed === undefined) return undefined;
  const isBatch = parsed.has(['agent']) || parsed.has(['dataset']);
  const { scorer: section, world: written } = isBatch
    ? reading.check(parsed, batchFile).value
    : { ...reading.check(parsed, scorerFile).value, world: undefined };
  if (section === undefined) return undefined;
  // Without a batch, the world is that of the rollouts.
  const rubric = await checkScorer(reading, parsed, section, undefined, !isBatch || parsed.has(['world']));
  if (section.kind === 'judge' && section.rubric !== undefined && rubric === undefined) return undefined;
  const found = { path, parsed, section, ...(rubric === undefined ? {} : { rubric }) };
  if (section.kind !== 'world' || written === undefined) return found;
  const worldPath = await reading.locate(parsed, ['world'], written);
  const world = worldPath === undefined ? undefined : await readWorld(reading, worldPath, { parsed, at: ['world'] });
  return world?.world === undefined ? undefined : { ...found, world: world.world };
}

/** Checks the scorer of a file and returns the rubric of a judge. `dataset`: undefined without one. */
export async function checkScorer(
  reading: Reading,
  parsed: ParsedFile,
  scorer: ScorerSection,
  dataset: DatasetLook | undefined,
  hasWorld = parsed.has(['world']),
): Promise<PromptText | undefined> {
  switch (scorer.kind) {
    case 'world':
      if (!hasWorld) {
        reading.report(parsed, ['scorer', 'kind'], {
          code: 'conflict',
          message: "the scorer is the world's verifier, but the batch has no `world`",
          hint: 'Add `world: ../worlds/….world.yaml`, or choose another scorer.',
          fixes: [{ do: 'replace', text: 'exact' }],
        });
      }
      return undefined;
    case 'module':
      await reading.locate(parsed, ['scorer', 'module'], scorer.module, MODULE_ENDINGS);
      checkModels(reading, parsed, ['scorer', 'models'], scorer.models);
      return undefined;
    case 'regex':
      checkPattern(reading, parsed, ['scorer', 'pattern'], scorer.pattern, scorer.flags);
      return undefined;
    case 'judge':
      checkModel(reading, parsed, ['scorer', 'model'], scorer.model);
      if (scorer.subject === 'observation') checkExpected(reading, parsed, scorer, dataset);
      return scorer.rubric === undefined ? undefined : reading.prompt(parsed, ['scorer', 'rubric'], scorer.rubric);
    case 'exact':
    case 'contains':
    case 'number':
    case 'json':
      checkExpected(reading, parsed, scorer, dataset);
      return undefined;
  }
}

/** Reports a scorer that compares with expected answers if no task has one. */
function checkExpected(
  reading: Reading,
  parsed: ParsedFile,
  { kind }: ScorerSection,
  dataset: DatasetLook | undefined,
): void {
  if (dataset === undefined || dataset.tasks === 0 || dataset.answers) return;
  reading.report(parsed, ['scorer', 'kind'], {
    code: 'conflict',
    message:
      `\`${kind}\` compares with expected answers, but ` +
      `${dataset.whole ? 'no task' : `none of the first ${dataset.tasks} tasks`} has one`,
    hint: 'Set `dataset.answer` to the column with the answers, or choose another scorer.',
  });
}
