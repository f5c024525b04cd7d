/** The settings of a batch that its report judges, from its row: the same for the page and the command line. */
import type { ReportInput } from '../trace/statistics.ts';
import type { BatchRow } from './client.ts';

type Controls = Pick<ReportInput, 'attempts' | 'adaptive' | 'curriculum' | 'budget'>;

/** Returns what a report needs to know about the attempts of the tasks of a batch. */
export function controlsOf(batch: BatchRow): Controls {
  const { adaptive, attempts, budget, groups, imported, rescores } = batch;
  // In an imported batch, one that rescores a part of another one, and one for groups, tasks have different numbers of
  // attempts.
  const isFixed = !imported && rescores === undefined && groups === undefined && adaptive === undefined;
  return {
    ...(adaptive === undefined ? {} : { adaptive: { ...adaptive, most: attempts } }),
    ...(isFixed ? { attempts } : {}),
    ...curriculumOf(batch),
    ...(budget === undefined ? {} : { budget: { tokens: budget.tokens, cost: budget.cost } }),
  };
}

function curriculumOf({ curriculum, groups, attempts }: BatchRow): Pick<ReportInput, 'curriculum'> {
  if (curriculum === undefined) return {};
  const {
    by,
    kept,
    too_hard: tooHard,
    too_easy: tooEasy,
    unknown,
    outside,
    outside_attempts: spent,
    moves,
  } = curriculum;
  const saved = groups === undefined ? (tooHard + tooEasy) * attempts : null;
  return {
    curriculum: {
      by,
      too_hard: tooHard,
      too_easy: tooEasy,
      unknown,
      saved,
      kept,
      ...(outside === undefined ? {} : { outside, outside_attempts: spent ?? 0, moves: moves ?? 0 }),
    },
  };
}
