/** All formats for trainers. `csv`, a table for people, is not one of them. */
import type { TrainingFormat } from './format.ts';
import { groups, groupsParquet } from './groups.ts';
import { nemoGym } from './nemoGym.ts';
import { atropos, skyRl, slime } from './others.ts';
import { pairsSwift, pairsTrl } from './pairs.ts';
import { sftOpenAi, sftSwift, sftTrl } from './sft.ts';
import { swiftRollout } from './swiftRollout.ts';
import { trl, trlAsync } from './trl.ts';
import { verl } from './verl.ts';

export const TRAINING_FORMATS: readonly TrainingFormat[] = [
  groups,
  groupsParquet,
  sftTrl,
  sftSwift,
  sftOpenAi,
  pairsTrl,
  pairsSwift,
  verl,
  swiftRollout,
  trl,
  trlAsync,
  nemoGym,
  skyRl,
  slime,
  atropos,
];

export function trainingFormat(id: string): TrainingFormat | undefined {
  return TRAINING_FORMATS.find((format) => format.id === id);
}
