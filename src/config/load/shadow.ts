/** Checks of worlds that predict calls beyond their schema. */
import type { ModelSection } from '../schema/modelSection.ts';
import type { ShadowSection } from '../schema/shadowSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { checkModel } from './model.ts';
import { checkCondition, VARIABLES } from './perturb.ts';
import type { Reading } from './reading.ts';
import type { LoadedWorld } from './world.ts';

/** Reports problems of its condition and its judge. */
export function checkShadow(
  reading: Reading,
  parsed: ParsedFile,
  { when, judge }: Partial<ShadowSection>,
  models: Readonly<Record<string, ModelSection>> | undefined,
): void {
  if (when !== undefined) checkCondition(reading, parsed, ['shadow', 'when'], when, VARIABLES);
  if (judge === undefined) return;
  if (typeof judge !== 'string') checkModel(reading, parsed, ['shadow', 'judge'], judge);
  else if (models?.[judge] === undefined)
    reading.report(parsed, ['shadow', 'judge'], {
      code: 'value',
      message: `\`models\` has no model \`${judge}\``,
      hint: 'Add it there, or write the model here: `judge: { endpoint: …, name: … }`.',
    });
}

/** Reports a world that really does what it is asked, which a prediction must not. */
export function checkPredictingWorld(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  world: LoadedWorld | undefined,
): void {
  if (world === undefined) return;
  const { kind, file } = world;
  if (kind === 'recorded' || (kind === 'simulated' && file.real === undefined)) return;
  reading.report(parsed, at, {
    code: 'conflict',
    message:
      kind === 'simulated'
        ? `the world ${file.name} makes real calls`
        : `the world ${file.name} is of kind \`${kind}\`, which makes calls instead of predicting them`,
    hint: 'Name a world of kind `simulated`, without `real`, or of kind `recorded`.',
  });
}
